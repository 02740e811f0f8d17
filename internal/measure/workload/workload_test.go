package workload

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestBuiltIn(t *testing.T) {
	prompts := BuiltIn()
	perCategory := map[string]int{}
	ids := map[string]bool{}
	texts := map[string]string{}
	for _, p := range prompts {
		perCategory[p.Category]++
		if ids[p.ID] {
			t.Errorf("id %s occurs twice", p.ID)
		}
		ids[p.ID] = true
		if !strings.HasPrefix(p.ID, p.Category+"-") {
			t.Errorf("id %s does not start with its category %s", p.ID, p.Category)
		}
		if other, seen := texts[p.Text]; seen {
			t.Errorf("%s and %s have the same text", p.ID, other)
		}
		texts[p.Text] = p.ID
		if !utf8.ValidString(p.Text) || strings.Contains(p.Text, "\r") || strings.Contains(p.Text, "===") {
			t.Errorf("%s: not clean text", p.ID)
		}
	}
	for _, c := range Categories() {
		if perCategory[c] != 16 {
			t.Errorf("category %s has %d prompts, want 16", c, perCategory[c])
		}
	}
	if len(prompts) != 128 || len(perCategory) != 8 {
		t.Errorf("got %d prompts in %d categories, want 128 in 8", len(prompts), len(perCategory))
	}
}

// Two prompts that begin alike would share a prefix in the server's cache, and the second would look fast. The
// long-context and rewriting prompts may share their instruction, not their text.
func TestBuiltInPrefixes(t *testing.T) {
	const runes = 90
	seen := map[string]string{}
	for _, p := range BuiltIn() {
		prefix := p.Text[:min(runes, len(p.Text))]
		if other, ok := seen[prefix]; ok {
			t.Errorf("%s and %s share their first %d bytes", p.ID, other, runes)
		}
		seen[prefix] = p.ID
	}
}

// Lengths in words; a token of English prose is about 0.75 words.
func TestBuiltInLengths(t *testing.T) {
	limits := map[string][2]int{
		Code: {15, 100}, Maths: {15, 100}, Chat: {12, 100}, Reasoning: {20, 100}, Translation: {20, 100},
		Rewriting: {60, 160}, Extraction: {45, 140}, LongContext: {220, 560},
	}
	for _, p := range BuiltIn() {
		words := len(strings.Fields(p.Text))
		if lim := limits[p.Category]; words < lim[0] || words > lim[1] {
			t.Errorf("%s has %d words, want %d..%d", p.ID, words, lim[0], lim[1])
		}
	}
}

func TestSampleLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prompts := BuiltIn()
		if rapid.Bool().Draw(t, "uneven") {
			prompts = prompts[rapid.IntRange(0, 40).Draw(t, "cut"):]
		}
		n := rapid.IntRange(-1, len(prompts)+3).Draw(t, "n")
		seed := rapid.Uint64().Draw(t, "seed")
		got := Sample(prompts, n, seed)
		if want := max(0, min(n, len(prompts))); len(got) != want {
			t.Fatalf("drew %d, want %d", len(got), want)
		}
		have, drawn, ids := map[string]int{}, map[string]int{}, map[string]bool{}
		for _, p := range prompts {
			have[p.Category]++
		}
		for i, p := range got {
			if ids[p.ID] {
				t.Fatalf("%s drawn twice", p.ID)
			}
			ids[p.ID] = true
			drawn[p.Category]++
			if n < len(prompts) && Sample(prompts, n, seed)[i].ID != p.ID {
				t.Fatal("the same seed drew other prompts")
			}
		}
		for a := range have {
			for b := range have {
				if drawn[a] < have[a] && drawn[b] > drawn[a]+1 {
					t.Fatalf("%d of %s but %d of %s, which was not exhausted", drawn[b], b, drawn[a], a)
				}
			}
		}
		if rest := Without(prompts, got); len(rest)+len(got) != len(prompts) {
			t.Fatalf("Without left %d of %d after %d", len(rest), len(prompts), len(got))
		}
	})
}

func TestSampleSeedsDiffer(t *testing.T) {
	a, b := Sample(BuiltIn(), 16, 1), Sample(BuiltIn(), 16, 2)
	same := 0
	for i := range a {
		if a[i].ID == b[i].ID {
			same++
		}
	}
	if same == len(a) {
		t.Error("seeds 1 and 2 drew the same prompts in the same order")
	}
}
