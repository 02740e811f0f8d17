package engine

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pieces is a detokenizer whose token i is the i-th piece.
type pieces []string

func (p pieces) Push(id int32) string { return p[id] }
func (p pieces) Flush() string        { return "" }

func TestStopStrings(t *testing.T) {
	for _, tc := range []struct {
		name   string
		stops  []string
		pieces []string
		from   int // first token from which stop strings count
		out    []string
		stop   string
	}{
		{"no stops", nil, []string{"a", "b"}, 0, []string{"a", "b"}, ""},
		{"inside a token", []string{"b"}, []string{"abc"}, 0, []string{"a"}, "b"},
		{"across tokens", []string{"END"}, []string{"xE", "N", "Dz"}, 0, []string{"x", "", ""}, "END"},
		{"held, then free", []string{"END"}, []string{"xE", "N", "X"}, 0, []string{"x", "", "ENX"}, ""},
		{"overlapping beginnings", []string{"aab"}, []string{"a", "a", "a", "b"}, 0, []string{"", "", "a", ""}, "aab"},
		{"first of two", []string{"c", "b"}, []string{"abc"}, 0, []string{"a"}, "b"},
		{"multi-byte", []string{"é€"}, []string{"xé", "€"}, 0, []string{"x", ""}, "é€"},
		{"multi-byte held, then free", []string{"é€"}, []string{"xé", "é"}, 0, []string{"x", "é"}, ""},
		{"held to the end", []string{"END"}, []string{"EN"}, 0, []string{""}, ""},
		{"not before min_tokens", []string{"b"}, []string{"b", "xb"}, 1, []string{"b", "x"}, "b"},
		{"does not reach back", []string{"ab"}, []string{"a", "b"}, 1, []string{"a", "b"}, ""},
	} {
		o := output{detok: pieces(tc.pieces), stops: tc.stops}
		var stop string
		for i := range tc.pieces {
			var text string
			text, stop = o.push(int32(i), i >= tc.from)
			if text != tc.out[i] {
				t.Errorf("%s: token %d gave %q, want %q", tc.name, i, text, tc.out[i])
			}
			if stop != "" {
				break
			}
		}
		if stop != tc.stop {
			t.Errorf("%s: stop string %q, want %q", tc.name, stop, tc.stop)
		}
		if tc.name == "held to the end" {
			if rest, _ := o.end(true); rest != "EN" {
				t.Errorf("%s: end gave %q, want EN", tc.name, rest)
			}
		}
	}
}

// TestStopStringsLaw: what goes out is the text before the first stop string, however the text is cut into tokens.
func TestStopStringsLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cut := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("abé")), 0, 3, -1), 1, 12).Draw(t, "pieces")
		stop := rapid.StringOfN(rapid.SampledFrom([]rune("abé")), 1, 4, -1).Draw(t, "stop")
		all := strings.Join(cut, "")
		o := output{detok: pieces(cut), stops: []string{stop}}
		got, found := "", ""
		for i := range cut {
			var text string
			text, found = o.push(int32(i), true)
			if got += text; found != "" {
				break
			}
		}
		if found == "" {
			rest, _ := o.end(true)
			got += rest
		}
		want, _, has := strings.Cut(all, stop)
		if got != want || has != (found != "") {
			t.Fatalf("stop %q in %q: got %q (%q), want %q", stop, cut, got, found, want)
		}
	})
}
