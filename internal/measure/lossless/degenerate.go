package lossless

import (
	"strings"
	"unicode"
)

// Degenerate reports whether a text looks like the output of a broken decoder: one phrase of up to four words again
// and again, or mostly characters that no language uses. Small models loop by themselves, so this only ever counts
// against an arm when the baseline does not do it on the same prompt.
func Degenerate(text string) bool {
	return loops(strings.Fields(text)) || garbled(text)
}

// loops reports whether a phrase of 1..4 words is repeated without a break over at least 12 words and half the text.
func loops(words []string) bool {
	for phrase := 1; phrase <= 4; phrase++ {
		run, longest := 0, 0
		for i := phrase; i < len(words); i++ {
			if words[i] == words[i-phrase] {
				run++
			} else {
				run = 0
			}
			longest = max(longest, run)
		}
		if longest += phrase; longest >= 12 && 2*longest >= len(words) {
			return true
		}
	}
	return false
}

// garbled reports whether more than a fifth of the characters are replacement, control or private-use characters.
func garbled(text string) bool {
	bad, all := 0, 0
	for _, r := range text {
		all++
		if r == unicode.ReplacementChar || unicode.Is(unicode.Co, r) || unicode.IsControl(r) && !unicode.IsSpace(r) {
			bad++
		}
	}
	return bad > 0 && 5*bad > all
}

func degenerateShare(texts []string) float64 {
	n := 0
	for _, t := range texts {
		if Degenerate(t) {
			n++
		}
	}
	return float64(n) / float64(len(texts))
}
