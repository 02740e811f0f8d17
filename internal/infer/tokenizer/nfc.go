package tokenizer

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// joiner is what package norm inserts into runs of more than 30 combining marks to bound its buffers. The reference
// tokenizers do not.
const joiner = "\u034f"

// nfc puts a text into Unicode's normalisation form C, as the standard defines it, for runs of any length.
func nfc(text string) string {
	if norm.NFC.IsNormalString(text) {
		return text
	}
	out := norm.NFC.String(text)
	if strings.Count(out, joiner) == strings.Count(text, joiner) {
		return out
	}
	return compose(order(decompose(text)))
}

// char is a decomposed character and its canonical combining class.
type char struct {
	text  string
	class uint8
}

func decompose(text string) []char {
	var list []char
	for len(text) > 0 {
		_, n := utf8.DecodeRuneInString(text)
		part := norm.NFD.String(text[:n])
		text = text[n:]
		for len(part) > 0 {
			_, n := utf8.DecodeRuneInString(part)
			list = append(list, char{part[:n], norm.NFD.PropertiesString(part[:n]).CCC()})
			part = part[n:]
		}
	}
	return list
}

// order sorts each run of characters with a class that is not zero by class, keeping equals in order.
func order(list []char) []char {
	for i := 0; i < len(list); i++ {
		end := i
		for end < len(list) && list[end].class != 0 {
			end++
		}
		slices.SortStableFunc(list[i:end], func(a, b char) int { return cmp.Compare(a.class, b.class) })
		i = max(i, end)
	}
	return list
}

// compose joins each character to the last starter where the pair has a composed form and nothing between them blocks.
func compose(list []char) string {
	out := list[:0]
	starter := -1
	for _, c := range list {
		// Blocked: a character in between has the same or a higher class, or is a starter itself.
		free := starter >= 0 && (starter == len(out)-1 || out[len(out)-1].class < c.class && out[len(out)-1].class != 0)
		if free {
			joined := norm.NFC.String(out[starter].text + c.text)
			if _, n := utf8.DecodeRuneInString(joined); n == len(joined) {
				out[starter].text = joined
				continue
			}
		}
		if c.class == 0 {
			starter = len(out)
		}
		out = append(out, c)
	}
	var b strings.Builder
	for _, c := range out {
		b.WriteString(c.text)
	}
	return b.String()
}
