package spec

import "fmt"

// Check says which rule of a draft tree t breaks: at most budget nodes, tokens inside the vocabulary, parents before
// children, siblings distinct. The engine drops a draft that fails; it never reaches the model.
func (t *Tree) Check(budget, vocab int) error {
	if len(t.Token) != len(t.Parent) {
		return fmt.Errorf("draft tree: %d tokens but %d parents", len(t.Token), len(t.Parent))
	}
	if t.Len() > budget {
		return fmt.Errorf("draft tree: %d nodes, budget is %d", t.Len(), budget)
	}
	for i, tok := range t.Token {
		if tok < 0 || int(tok) >= vocab {
			return fmt.Errorf("draft tree: node %d has token %d, outside the vocabulary of %d", i, tok, vocab)
		}
		if p := t.Parent[i]; p < -1 || p >= i {
			return fmt.Errorf("draft tree: node %d has parent %d, want -1 to %d", i, p, i-1)
		}
		for j := range i {
			if t.Parent[j] == t.Parent[i] && t.Token[j] == tok {
				return fmt.Errorf("draft tree: nodes %d and %d are siblings with the same token %d", j, i, tok)
			}
		}
	}
	return nil
}

// Child is the index of parent's child with the given token, -1 when there is none.
func (t *Tree) Child(parent int, token int32) int {
	for i := max(parent+1, 0); i < len(t.Token); i++ {
		if t.Parent[i] == parent && t.Token[i] == token {
			return i
		}
	}
	return -1
}
