package tokenizer

// trie holds the tokens that are looked for in text before it is split into words. Its zero value is empty.
type trie struct {
	nodes []trieNode
	depth int // bytes of the longest entry
	first [256]bool
}

type trieNode struct {
	next    map[byte]int32
	id      int32 // -1: no token ends here
	control bool
}

// add enters a token. Control tokens are found only on demand, others always.
func (t *trie) add(text string, id int32, control bool) {
	if text == "" {
		return
	}
	if t.nodes == nil {
		t.nodes = []trieNode{{id: -1}}
	}
	at := int32(0)
	for i := range len(text) {
		next, ok := t.nodes[at].next[text[i]]
		if !ok {
			next = int32(len(t.nodes))
			if t.nodes[at].next == nil {
				t.nodes[at].next = map[byte]int32{}
			}
			t.nodes[at].next[text[i]] = next
			t.nodes = append(t.nodes, trieNode{id: -1})
		}
		at = next
	}
	t.nodes[at].id, t.nodes[at].control = id, control
	t.depth = max(t.depth, len(text))
	t.first[text[0]] = true
}

// find is the leftmost token in a text, the longest of those that start at the same place: its place, length and id.
// Without one, at is the length of the text and n is zero.
func (t *trie) find(text string, parseControl bool) (at, n int, id int32) {
	for at := range len(text) {
		if !t.first[text[at]] {
			continue
		}
		if n, id := t.match(text[at:], parseControl); n > 0 {
			return at, n, id
		}
	}
	return len(text), 0, 0
}

func (t *trie) match(text string, parseControl bool) (n int, id int32) {
	at := int32(0)
	for i := range len(text) {
		next, ok := t.nodes[at].next[text[i]]
		if !ok {
			break
		}
		at = next
		if node := &t.nodes[at]; node.id >= 0 && (parseControl || !node.control) {
			n, id = i+1, node.id
		}
	}
	return n, id
}
