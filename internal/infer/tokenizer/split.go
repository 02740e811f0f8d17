package tokenizer

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// splitter is the length of the first word of a text that is not empty, at least one byte. A word is what the merges
// may join. Each is the exact equivalent of a regular expression that reference tokenizers use; they are written by
// hand because Go's regular expressions have no look-ahead. A byte that is no UTF-8 counts as a character that is
// neither letter, number nor space.
type splitter func(text string) int

// family is what a pre-tokenizer's name stands for.
type family struct {
	split splitter
	nfc   bool // the reference normalises text first
	whole bool // words that are tokens are taken as they stand
}

// familyOf knows the values of tokenizer.ggml.pre whose splitting is implemented exactly.
func familyOf(pre string) (family, error) {
	switch pre {
	case "gpt-2", "gpt2":
		return family{split: gpt2{}.split}, nil
	case "smollm":
		return family{split: gpt2{digits: true}.split}, nil
	case "llama-bpe", "llama3", "llama-v3":
		return family{split: pattern{digits: 3}.split, whole: true}, nil
	case "qwen2":
		return family{split: pattern{digits: 1}.split, nfc: true}, nil
	case "qwen35":
		return family{split: pattern{digits: 1, marks: true}.split, nfc: true}, nil
	}
	return family{}, fmt.Errorf("pre-tokenizer %q is not supported (gpt-2, smollm, llama-bpe, qwen2 and qwen35 are)", pre)
}

// class of a character.
type class byte

const (
	other class = iota // punctuation, symbols, control characters, marks, invalid bytes
	letter
	number
	space
)

// classify reads the first character of a text; n is 0 at its end.
func classify(text string) (c class, r rune, n int) {
	if len(text) == 0 {
		return other, 0, 0
	}
	if b := text[0]; b < utf8.RuneSelf {
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z':
			return letter, rune(b), 1
		case b >= '0' && b <= '9':
			return number, rune(b), 1
		case b == ' ', b >= '\t' && b <= '\r':
			return space, rune(b), 1
		}
		return other, rune(b), 1
	}
	r, n = utf8.DecodeRuneInString(text)
	switch {
	case unicode.IsLetter(r):
		return letter, r, n
	case unicode.IsNumber(r):
		return number, r, n
	case unicode.IsSpace(r):
		return space, r, n
	}
	return other, r, n
}

// run is the length of the characters of one class at the start of a text.
func run(text string, want class) int {
	at := 0
	for {
		c, _, n := classify(text[at:])
		if n == 0 || c != want {
			return at
		}
		at += n
	}
}

// gpt2 splits by
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// With digits, every number is first cut out as a word of its own, so that the text before it ends there.
type gpt2 struct{ digits bool }

func (p gpt2) split(text string) int {
	if n := contraction(text, false); n > 0 {
		return n
	}
	c, r, n := classify(text)
	if c == number && p.digits {
		return n
	}
	if r == ' ' {
		// A single space belongs to the word after it.
		if next, _, m := classify(text[1:]); m > 0 && next != space && !(next == number && p.digits) {
			return 1 + run(text[1:], next)
		}
	}
	if c != space {
		return run(text, c)
	}
	all := run(text, space)
	if next, _, _ := classify(text[all:]); next == number && p.digits {
		return all
	}
	return spaces(text, all)
}

// spaces is the match of \s+(?!\S)|\s+ at a run of white space of so many bytes: all but its last character, which
// stays with the word after it, or all when no word comes or there is only one character.
func spaces(text string, all int) int {
	if all == len(text) {
		return all
	}
	_, last := utf8.DecodeLastRuneInString(text[:all])
	if all == last {
		return all
	}
	return all - last
}

// contraction is the length of 's, 't, 're, 've, 'm, 'll or 'd at the start of a text, in any case when fold.
// Case folding takes the long s (U+017F) for an s.
func contraction(text string, fold bool) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	for _, s := range [...]string{"s", "t", "re", "ve", "m", "ll", "d"} {
		if n := prefix(text[1:], s, fold); n > 0 {
			return 1 + n
		}
	}
	return 0
}

func prefix(text, s string, fold bool) int {
	if !fold {
		if strings.HasPrefix(text, s) {
			return len(s)
		}
		return 0
	}
	if len(text) >= len(s) && strings.EqualFold(text[:len(s)], s) {
		return len(s)
	}
	if s == "s" && strings.HasPrefix(text, "\u017f") {
		return len("\u017f")
	}
	return 0
}

// pattern splits by the expression that Llama 3 and Qwen share but for the length of numbers:
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//
// With marks, combining marks (\p{M}) count as letters, but for the optional character before a word.
type pattern struct {
	digits int
	marks  bool
}

func (p pattern) split(text string) int {
	if n := contraction(text, true); n > 0 {
		return n
	}
	c, r, n := p.classify(text)
	switch c {
	case letter:
		return p.run(text, letter)
	case number:
		at := 0
		for range p.digits {
			c, _, n := classify(text[at:])
			if c != number || n == 0 {
				break
			}
			at += n
		}
		return at
	}
	if next, _, m := p.classify(text[n:]); m > 0 && r != '\r' && r != '\n' && next == letter {
		return n + p.run(text[n:], letter)
	}
	at := 0
	if r == ' ' {
		at = 1
	}
	if m := p.run(text[at:], other); m > 0 {
		at += m
		for at < len(text) && (text[at] == '\r' || text[at] == '\n') {
			at++
		}
		return at
	}
	all := run(text, space)
	if last := strings.LastIndexAny(text[:all], "\r\n"); last >= 0 {
		return last + 1
	}
	return spaces(text, all)
}

func (p pattern) classify(text string) (class, rune, int) {
	c, r, n := classify(text)
	if p.marks && c == other && r >= utf8.RuneSelf && unicode.IsMark(r) {
		c = letter
	}
	return c, r, n
}

func (p pattern) run(text string, want class) int {
	at := 0
	for {
		c, _, n := p.classify(text[at:])
		if n == 0 || c != want {
			return at
		}
		at += n
	}
}
