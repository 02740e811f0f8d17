package tokenizer

import (
	"cmp"
	"slices"
	"sort"
)

// specials holds the tokens that are looked for in text before it is split into words. Add all, then sort once.
type specials struct {
	list  []special // by text
	first [256]bool // bytes that some text starts with
}

// special is one such token. Control tokens are found only on demand, others always.
type special struct {
	text    string
	id      int32
	control bool
}

func (s *specials) add(text string, id int32, control bool) {
	if text == "" {
		return
	}
	s.list = append(s.list, special{text, id, control})
	s.first[text[0]] = true
}

// sort makes the list ready. Of equal texts the one that was added first counts.
func (s *specials) sort() {
	slices.SortStableFunc(s.list, func(a, b special) int { return cmp.Compare(a.text, b.text) })
}

// find is the leftmost token in a text, the longest of those that start at the same place: its place, length and id.
// Without one, at is the length of the text and n is zero.
func (s *specials) find(text string, parseControl bool) (at, n int, id int32) {
	for at := range len(text) {
		if !s.first[text[at]] {
			continue
		}
		if n, id := s.match(text[at:], parseControl); n > 0 {
			return at, n, id
		}
	}
	return len(text), 0, 0
}

// match is the longest token at the start of a text. The part of the list that agrees with it is narrowed byte by
// byte; within that part a text that ends here comes first.
func (s *specials) match(text string, parseControl bool) (n int, id int32) {
	part := s.list
	for i := range len(text) {
		c := text[i]
		lo := sort.Search(len(part), func(k int) bool { return len(part[k].text) > i && part[k].text[i] >= c })
		part = part[lo:]
		part = part[:sort.Search(len(part), func(k int) bool { return part[k].text[i] > c })]
		if len(part) == 0 {
			break
		}
		if e := part[0]; len(e.text) == i+1 && (parseControl || !e.control) {
			n, id = i+1, e.id
		}
	}
	return n, id
}
