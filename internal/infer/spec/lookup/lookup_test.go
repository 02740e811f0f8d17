package lookup

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"treeline/internal/infer/spec"
)

// naive searches the whole text: the longest n first, then the most recent earlier occurrence.
func naive(tokens []int32, minMatch, maxMatch, budget int) []int32 {
	for n := maxMatch; n >= minMatch; n-- {
		if n > len(tokens) {
			continue
		}
		suffix := tokens[len(tokens)-n:]
		for end := len(tokens) - 1; end >= n; end-- {
			if slices.Equal(tokens[end-n:end], suffix) {
				text := slices.Clone(tokens)
				for i := range budget {
					text = append(text, text[end+i])
				}
				return text[len(tokens):]
			}
		}
	}
	return nil
}

// chain checks that the tree is a chain and returns its tokens.
func chain(t interface{ Fatalf(string, ...any) }, tree *spec.Tree) []int32 {
	for i, p := range tree.Parent {
		if p != i-1 {
			t.Fatalf("node %d has parent %d: not a chain", i, p)
		}
	}
	return tree.Token
}

func TestProposeIsNaiveSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.IntRange(1, 3).Draw(t, "min")
		hi := rapid.IntRange(lo, MaxMatchLimit).Draw(t, "max")
		alphabet := rapid.Int32Range(0, int32(rapid.IntRange(0, 5).Draw(t, "alphabet")))
		d := New(Options{MinMatch: lo, MaxMatch: hi})
		var text []int32
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			part := rapid.SliceOfN(alphabet, 0, 9).Draw(t, "part")
			text = append(text, part...)
			d.Append(part)
			if rapid.Bool().Draw(t, "skip the proposal") {
				continue
			}
			budget := rapid.IntRange(0, 9).Draw(t, "budget")
			var tree spec.Tree
			d.Propose(&tree, budget)
			got, want := chain(t, &tree), naive(text, lo, hi, budget)
			if !slices.Equal(got, want) {
				t.Fatalf("after %v: proposed %v, want %v", text, got, want)
			}
		}
	})
}

func FuzzPropose(f *testing.F) {
	f.Add([]byte("abcabcab"), uint8(4))
	f.Add([]byte{0, 0, 0, 0}, uint8(9))
	f.Add([]byte("the cat sat on the cat"), uint8(255))
	f.Fuzz(func(t *testing.T, text []byte, budget uint8) {
		if len(text) > 300 {
			t.Skip("the naive search is slow")
		}
		d := New(DefaultOptions())
		var tokens []int32
		for _, b := range text {
			tokens = append(tokens, int32(b))
			d.Append(tokens[len(tokens)-1:])
		}
		var tree spec.Tree
		d.Propose(&tree, int(budget))
		if got, want := chain(t, &tree), naive(tokens, 2, 6, int(budget)); !slices.Equal(got, want) {
			t.Fatalf("after %v: proposed %v, want %v", tokens, got, want)
		}
	})
}

func TestProposeExamples(t *testing.T) {
	for _, tc := range []struct {
		name   string
		text   []int32
		budget int
		want   []int32
	}{
		{"nothing known", nil, 4, nil},
		{"no match", []int32{1, 2, 3}, 4, nil},
		{"one token is no match", []int32{1, 2, 1}, 4, nil},
		{"copy", []int32{1, 2, 3, 4, 9, 1, 2}, 2, []int32{3, 4}},
		{"most recent wins", []int32{1, 2, 3, 1, 2, 4, 1, 2}, 1, []int32{4}},
		{"longest wins", []int32{7, 1, 2, 3, 1, 2, 4, 7, 1, 2}, 1, []int32{3}},
		{"loop goes on", []int32{5, 6, 5, 6}, 5, []int32{5, 6, 5, 6, 5}},
		{"no budget", []int32{5, 6, 5, 6}, 0, nil},
	} {
		d := New(DefaultOptions())
		d.Append(tc.text)
		var tree spec.Tree
		d.Propose(&tree, tc.budget)
		if diff := cmp.Diff(tc.want, chain(t, &tree)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestGuard plays a request whose matches are always wrong, then one whose matches are always right.
func TestGuard(t *testing.T) {
	propose := func(d *Drafter) int {
		var tree spec.Tree
		d.Propose(&tree, 8)
		return tree.Len()
	}
	opt := DefaultOptions()
	opt.MinProb = 0.45
	d := New(opt)
	d.Append([]int32{1, 2, 3, 1, 2}) // a match of 2: 0.49 for the first node, 0.26 for the second
	if got := propose(d); got != 1 {
		t.Fatalf("fresh guard proposed %d nodes, want 1", got)
	}
	next := int32(100)
	for range 8 {
		d.Append([]int32{next, 1, 2}) // never what was guessed
		next++
		propose(d)
	}
	if got := propose(d); got != 0 {
		t.Errorf("after eight misses %d nodes are proposed, want 0", got)
	}
	for range 400 { // the text becomes a loop: guesses, though not proposed, turn out right
		d.Append([]int32{1})
		propose(d)
		d.Append([]int32{2})
		propose(d)
	}
	if got := propose(d); got != 8 {
		t.Errorf("in a loop %d nodes are proposed, want 8", got)
	}
}

func TestGuardLearnsOnlyWhatWasTried(t *testing.T) {
	g := newGuard()
	g.learn([]guess{{5, 2}, {6, 3}, {7, 4}}, []int32{5, 9, 7})
	want := newGuard()
	want.tries[1]++
	want.hits[1]++
	want.tries[2]++
	if g != want {
		t.Errorf("guard = %+v, want %+v", g, want)
	}
}

func TestOptions(t *testing.T) {
	for _, tc := range []struct {
		o  Options
		ok bool
	}{
		{DefaultOptions(), true},
		{Options{1, 8, 1}, true},
		{Options{0, 3, 0}, false},
		{Options{3, 2, 0}, false},
		{Options{1, 9, 0}, false},
		{Options{1, 2, -0.1}, false},
		{Options{1, 2, math.NaN()}, false},
	} {
		if err := tc.o.Validate(); (err == nil) != tc.ok {
			t.Errorf("Validate(%+v) = %v, want ok %v", tc.o, err, tc.ok)
		}
	}
}

func BenchmarkAppendPropose(b *testing.B) {
	d := New(DefaultOptions())
	var tree spec.Tree
	for i := 0; b.Loop(); i++ {
		if i%4096 == 0 {
			d = New(DefaultOptions())
		}
		d.Append([]int32{int32(i * i % 97)})
		tree.Reset()
		d.Propose(&tree, 8)
	}
}
