// Package spec is speculative decoding's shared part: the draft tree and the interface of a drafter. One sub-package
// per method (lookup). Verification is in package engine and is the same for all methods.
//
// A drafter can change speed, never output: a draft is kept exactly when it equals the token that plain decoding
// would have produced (noise-coupled sampling, package sample).
package spec

// Tree is a set of draft tokens below the newest token of a sequence (the root, not itself a node). Parents precede
// children: Parent[i] < i, and -1 means the root. A chain is a tree. Siblings carry distinct tokens.
type Tree struct {
	Token  []int32
	Parent []int
}

// Reset empties the tree and keeps its memory.
func (t *Tree) Reset() { t.Token, t.Parent = t.Token[:0], t.Parent[:0] }

// Add appends a node and returns its index.
func (t *Tree) Add(token int32, parent int) int {
	t.Token = append(t.Token, token)
	t.Parent = append(t.Parent, parent)
	return len(t.Token) - 1
}

// Len is the number of draft nodes, the root not counted.
func (t *Tree) Len() int { return len(t.Token) }

// Drafter proposes continuations for one request.
type Drafter interface {
	// Propose fills an empty tree with at most budget nodes. An empty tree means: decode plainly this round.
	Propose(t *Tree, budget int)
	// Append tells the tokens that joined the sequence, in order: first the whole prompt, then what was generated.
	Append(tokens []int32)
}
