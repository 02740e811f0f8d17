package lossless

import (
	"fmt"
	"strings"
	"testing"

	"treeline/internal/measure/record"
)

// starts makes n starts of one arm; text gives the output for prompt p in start s.
func starts(n, prompts int, text func(s, p int) string) []record.Start {
	out := make([]record.Start, n)
	for s := range out {
		for p := range prompts {
			out[s].Prompts = append(out[s].Prompts, record.PromptValue{Prompt: fmt.Sprintf("p%02d", p), Tokens: 10, Text: text(s, p)})
		}
	}
	return out
}

func plain(_, p int) string { return fmt.Sprintf("The answer to question %d is long enough.", p) }

// changed differs from plain at character 14 on the first n prompts, in every start.
func changed(n int) func(s, p int) string {
	return func(s, p int) string {
		if p < n {
			return fmt.Sprintf("The answer to riddle %d is long enough.", p)
		}
		return plain(s, p)
	}
}

// unstable gives another text in each start on the prompts from..to-1.
func unstable(from, to int) func(s, p int) string {
	return func(s, p int) string {
		if p >= from && p < to {
			return fmt.Sprintf("The answer to question %d comes in variant %d.", p, s)
		}
		return plain(s, p)
	}
}

func TestCheck(t *testing.T) {
	loop := func(s, p int) string {
		if p < 12 {
			return "It is " + strings.Repeat("for for for ", 12)
		}
		return plain(s, p)
	}
	shifted := func(f func(s, p int) string) func(s, p int) string {
		return func(s, p int) string { return f(s+100, p) } // other variants than the baseline's
	}
	tests := []struct {
		name              string
		a, b              []record.Start
		want              string
		diverged, control int
		sentence          string
	}{
		{"identical", starts(3, 16, plain), starts(3, 16, plain), Consistent, 0, 0, "identical on all 16 prompts"},
		{"identical, one start each", starts(1, 16, plain), starts(1, 16, plain), Consistent, 0, 0, "identical"},
		{"as often as the control", starts(2, 50, unstable(0, 5)), starts(2, 50, shifted(unstable(0, 6))), Consistent, 6, 5, "differ on 6 of 50 prompts, two starts of the baseline on 5 of 50"},
		{"everywhere, control clean", starts(2, 20, plain), starts(2, 20, changed(20)), Broken, 20, 0, "earliest difference at character 14"},
		{"no control", starts(1, 20, plain), starts(3, 20, changed(20)), NotShown, 20, 0, "no second start of the baseline"},
		{"one prompt, control clean", starts(4, 16, plain), starts(4, 16, changed(1)), NotShown, 1, 0, "not shown"},
		{"few prompts", starts(2, 4, plain), starts(2, 4, changed(4)), NotShown, 4, 0, "not shown"},
		{"arm unstable by itself", starts(3, 20, plain), starts(3, 20, unstable(0, 18)), Broken, 18, 0, "Not lossless"},
		{"degenerate", starts(2, 20, unstable(0, 20)), starts(2, 20, loop), Broken, 20, 20, "degenerates on 12 of 20"},
		{"degenerate, no control", starts(1, 20, plain), starts(1, 20, loop), Broken, 12, 0, "degenerates"},
		{"no texts", starts(2, 5, func(int, int) string { return "" }), starts(2, 5, plain), NotShown, 0, 0, "not compared"},
		{"no arm", starts(2, 5, plain), nil, NotShown, 0, 0, "not compared"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Check(tt.a, tt.b)
			if r.Verdict != tt.want || r.Diverged != tt.diverged || r.ControlDiverged != tt.control {
				t.Errorf("got %s, diverged %d, control %d; want %s, %d, %d", r.Verdict, r.Diverged, r.ControlDiverged, tt.want, tt.diverged, tt.control)
			}
			if !strings.Contains(r.Sentence, tt.sentence) {
				t.Errorf("sentence %q lacks %q", r.Sentence, tt.sentence)
			}
		})
	}
}

func TestPositions(t *testing.T) {
	r := Check(starts(2, 20, plain), starts(2, 20, changed(3)))
	if r.First == nil || *r.First != 14 || *r.Median != 14 {
		t.Errorf("first %v, median %v, want 14", r.First, r.Median)
	}
	if got := strings.Join(r.On, " "); got != "p00 p01 p02" {
		t.Errorf("on %s", got)
	}
}

func TestFirstDifference(t *testing.T) {
	tests := []struct {
		a, b    string
		at      int
		differs bool
	}{
		{"", "", 0, false}, {"abc", "abc", 0, false}, {"abc", "abd", 2, true}, {"ab", "abc", 2, true}, {"", "x", 0, true}, {"über", "übel", 3, true},
	}
	for _, tt := range tests {
		if at, differs := FirstDifference(tt.a, tt.b); at != tt.at || differs != tt.differs {
			t.Errorf("FirstDifference(%q, %q) = %d, %v, want %d, %v", tt.a, tt.b, at, differs, tt.at, tt.differs)
		}
	}
}

func TestDegenerate(t *testing.T) {
	tests := []struct {
		text string
		want bool
	}{
		{"", false},
		{"A short and ordinary sentence.", false},
		{strings.Repeat("for ", 30), true},
		{strings.Repeat("the end of ", 8), true},
		{"no no no no no, said the child, and then it went on to speak about the many other things of that long day", false},
		{"ok \ufffd\ufffd\ufffd\ufffd", true},
		{"line one\nline two\tand a tab", false},
		{"1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15", false},
	}
	for _, tt := range tests {
		if got := Degenerate(tt.text); got != tt.want {
			t.Errorf("Degenerate(%.30q) = %v, want %v", tt.text, got, tt.want)
		}
	}
}
