package tokenizer

// merge joins two neighbouring tokens to a third. Lower ranks were learned earlier and go first.
type merge struct {
	rank int32
	id   int32
}

// pair is the key of a merge.
func pair(left, right int32) uint64 { return uint64(uint32(left))<<32 | uint64(uint32(right)) }

// shortWord is the number of bytes up to which searching the best merge anew each time is faster than a heap.
const shortWord = 24

// encodeWord appends the tokens of one word.
func (t *Tokenizer) encodeWord(ids []int32, word string) []int32 {
	if known, ok := t.words.get(word); ok {
		return append(ids, known...)
	}
	start := len(ids)
	if id, ok := t.ids[word]; ok && t.whole && !t.control[id] {
		ids = append(ids, id)
	} else if len(word) <= shortWord {
		ids = t.mergeShort(ids, word)
	} else {
		ids = t.mergeLong(ids, word)
	}
	t.words.put(word, ids[start:])
	return ids
}

// appendBytes appends the tokens of single bytes; those that the vocabulary lacks are left out.
func (t *Tokenizer) appendBytes(ids []int32, word string) []int32 {
	for i := range len(word) {
		if id := t.bytes[word[i]]; id >= 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// mergeShort applies the merge of lowest rank, leftmost first, until none is left.
func (t *Tokenizer) mergeShort(ids []int32, word string) []int32 {
	start := len(ids)
	ids = t.appendBytes(ids, word)
	for {
		at, best := -1, merge{}
		for i := start; i+1 < len(ids); i++ {
			if m, ok := t.merges[pair(ids[i], ids[i+1])]; ok && (at < 0 || m.rank < best.rank) {
				at, best = i, m
			}
		}
		if at < 0 {
			return ids
		}
		ids[at] = best.id
		ids = append(ids[:at+1], ids[at+2:]...)
	}
}

// symbol is a token of a word in a doubly linked list. id is -1 once it was joined to the one before it.
type symbol struct {
	id         int32
	prev, next int32 // -1: none
}

// candidate is a possible merge of the symbol at a place with the next one, as they were when it was found.
type candidate struct {
	merge
	at          int32
	left, right int32
}

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

// mergeLong does what mergeShort does, with a heap: O(n log n).
func (t *Tokenizer) mergeLong(ids []int32, word string) []int32 {
	start := len(ids)
	ids = t.appendBytes(ids, word)
	list := make([]symbol, len(ids)-start)
	for i, id := range ids[start:] {
		list[i] = symbol{id: id, prev: int32(i) - 1, next: int32(i) + 1}
	}
	if len(list) == 0 {
		return ids
	}
	list[len(list)-1].next = -1
	var queue heap
	look := func(at int32) {
		if at < 0 || list[at].next < 0 {
			return
		}
		left, right := list[at].id, list[list[at].next].id
		if m, ok := t.merges[pair(left, right)]; ok {
			queue.push(candidate{m, at, left, right})
		}
	}
	for i := range list {
		look(int32(i))
	}
	for len(queue) > 0 {
		c := queue.pop()
		s := &list[c.at]
		if s.id != c.left || s.next < 0 || list[s.next].id != c.right {
			continue // one of the two was joined to something else since
		}
		s.id = c.id
		gone := s.next
		s.next = list[gone].next
		if s.next >= 0 {
			list[s.next].prev = c.at
		}
		list[gone].id = -1
		look(s.prev)
		look(c.at)
	}
	ids = ids[:start]
	for at := int32(0); at >= 0; at = list[at].next {
		ids = append(ids, list[at].id)
	}
	return ids
}

// heap keeps the candidate that goes first at index 0.
type heap []candidate

func (h *heap) push(c candidate) {
	q := append(*h, c)
	i := len(q) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !c.before(q[up]) {
			break
		}
		q[i] = q[up]
		i = up
	}
	q[i] = c
	*h = q
}

func (h *heap) pop() candidate {
	q := *h
	top, c := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	*h = q
	if len(q) == 0 {
		return top
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= len(q) {
			break
		}
		if down+1 < len(q) && q[down+1].before(q[down]) {
			down++
		}
		if !q[down].before(c) {
			break
		}
		q[i] = q[down]
		i = down
	}
	q[i] = c
	return top
}
