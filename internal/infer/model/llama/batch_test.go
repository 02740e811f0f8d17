package llama

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treeline/internal/infer/model"
)

// testLimits is a cache with sequences of 10, 0 and 98 committed tokens.
func testLimits() limits {
	return limits{
		nodes: 8, vocab: 100, maxLen: 100,
		length:   func(seq int) int { return []int{10, 0, 98}[seq] },
		reserved: func(seq int) int { return []int{64, 0, 128}[seq] },
	}
}

func TestBatchRefused(t *testing.T) {
	ok := model.Node{Seq: 0, Token: 1, Pos: 10, Parent: -1}
	with := func(f func(n *model.Node)) model.Node {
		n := ok
		f(&n)
		return n
	}
	for _, tc := range []struct {
		name  string
		batch []model.Node
		want  string
	}{
		{"empty", nil, "empty"},
		{"too many", make([]model.Node, 9), "split it"},
		{"unknown sequence", []model.Node{with(func(n *model.Node) { n.Seq = 3 })}, "sequence 3 does not exist"},
		{"negative sequence", []model.Node{with(func(n *model.Node) { n.Seq = -1 })}, "sequence -1 does not exist"},
		{"token too large", []model.Node{with(func(n *model.Node) { n.Token = 100 })}, "outside the vocabulary"},
		{"negative token", []model.Node{with(func(n *model.Node) { n.Token = -1 })}, "outside the vocabulary"},
		{"position too small", []model.Node{with(func(n *model.Node) { n.Pos = 9 })}, "position 9, want 10"},
		{"position too large", []model.Node{with(func(n *model.Node) { n.Pos = 11 })}, "position 11, want 10"},
		{"parent itself", []model.Node{with(func(n *model.Node) { n.Parent = 0 })}, "does not come before"},
		{"parent below -1", []model.Node{with(func(n *model.Node) { n.Parent = -2 })}, "does not come before"},
		{"parent after child", []model.Node{with(func(n *model.Node) { n.Parent = 1; n.Pos = 11 }), ok}, "does not come before"},
		{"position of the parent", []model.Node{ok, with(func(n *model.Node) { n.Parent = 0 })}, "position 10, want 11"},
		{"parent of another sequence", []model.Node{ok, {Seq: 2, Token: 1, Pos: 11, Parent: 0}}, "its parent 0 is of sequence 0"},
		{"not reserved", []model.Node{{Seq: 1, Token: 1, Pos: 0, Parent: -1}}, "call Reserve first"},
		{"beyond the end", []model.Node{{Seq: 2, Pos: 98, Parent: -1}, {Seq: 2, Pos: 99, Parent: 0}, {Seq: 2, Pos: 100, Parent: 1}}, "beyond the longest"},
	} {
		l := newLayout(8, 3)
		err := l.set(tc.batch, testLimits())
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want one with %q", tc.name, err, tc.want)
		}
		if len(l.rows) != 0 || len(l.spans) != 0 {
			t.Errorf("%s: a refused batch left %d rows", tc.name, len(l.rows))
		}
	}
}

func TestLayout(t *testing.T) {
	// Sequence 0: a tree with a chain 10, 11 in pages and two side branches. Sequence 2: two siblings.
	//   0 (pos 10) - 2 (11) - 5 (12)
	//              \ 3 (11) - 6 (12)
	//   4 (pos 10, another first token)
	batch := []model.Node{
		{Seq: 0, Pos: 10, Parent: -1, Want: true},
		{Seq: 2, Pos: 98, Parent: -1},
		{Seq: 0, Pos: 11, Parent: 0},
		{Seq: 0, Pos: 11, Parent: 0, Want: true},
		{Seq: 0, Pos: 10, Parent: -1},
		{Seq: 0, Pos: 12, Parent: 2},
		{Seq: 0, Pos: 12, Parent: 3},
		{Seq: 2, Pos: 98, Parent: -1, Want: true},
	}
	l := newLayout(8, 3)
	for range 2 { // a layout is used again
		if err := l.set(batch, testLimits()); err != nil {
			t.Fatal(err)
		}
	}
	want := []row{
		{seq: 0, pos: 10, parent: -1, slot: -1, pages: 11, out: 0},
		{seq: 2, pos: 98, parent: -1, slot: -1, pages: 99, out: -1},
		{seq: 0, pos: 11, parent: 0, slot: -1, pages: 12, out: -1},
		{seq: 0, pos: 11, parent: 0, slot: 0, pages: 11, out: 1},
		{seq: 0, pos: 10, parent: -1, slot: 1, pages: 10, out: -1},
		{seq: 0, pos: 12, parent: 2, slot: -1, pages: 13, out: -1},
		{seq: 0, pos: 12, parent: 3, slot: 2, pages: 11, out: -1},
		{seq: 2, pos: 98, parent: -1, slot: 3, pages: 98, out: 2},
	}
	opt := cmp.AllowUnexported(row{}, span{})
	if diff := cmp.Diff(want, l.rows, opt); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{0, 2, 3, 4, 5, 6, 1, 7}, l.order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]span{{0, 6, 0, 3}, {6, 8, 3, 4}}, l.spans, opt); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}
