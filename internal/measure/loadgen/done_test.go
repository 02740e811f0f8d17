package loadgen

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"treeline/internal/wire/sse"
)

func TestDoneMark(t *testing.T) {
	tests := []struct {
		reads []string
		want  int // number of the read that completes it, from 1; 0 never
	}{
		{[]string{"data: x\n\ndata: [DONE]\n\n"}, 1},
		{[]string{"data: [DONE]\n\n"}, 1},
		{[]string{"data:[DONE]\r\n\r\n"}, 1},
		{[]string{"data: [DONE]\r\r"}, 1},
		{[]string{"data: x\n\ndata: [DO", "NE]\n", "\n"}, 3},
		{[]string{"data: x\n\nda", "ta: [DONE]\r", "\n\r", "\n"}, 3},
		{[]string{"data: {\"content\":\"data: [DONE]\"}\n\n", "data: [DONE]\n\n"}, 2},
		{[]string{"data: [DONE] or not\n\n"}, 0},
		{[]string{"data: [DONE]\n"}, 0},
		{[]string{": data: [DONE]\n\n"}, 0},
		{[]string{"data: [DONE]\n\ndata: {\"usage\":1}\n\n" + strings.Repeat("x", 200)}, 1},
	}
	for _, tt := range tests {
		var d doneMark
		got := 0
		for i, read := range tt.reads {
			if d.find([]byte(read)) && got == 0 {
				got = i + 1
			}
		}
		if got != tt.want {
			t.Errorf("%q: found in read %d, want %d", tt.reads, got, tt.want)
		}
	}
}

// It finds what the parser finds, wherever reads cut.
func TestDoneMarkAgreesWithTheParser(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.SampledFrom([]string{"data: [DONE]", "data:[DONE]", "data: x[DONE]", "data: {}", "", "", ": [DONE]", "event: x"})).Draw(t, "lines")
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "end")
		text := []byte(strings.Join(lines, end) + end)
		want := false
		var p sse.Parser
		p.Feed(text, 0, 0, func(e sse.Event) { want = want || string(e.Data) == "[DONE]" })
		// A [DONE] beside other lines of one event is not told apart here, and no server sends it.
		if several(lines) {
			t.Skip()
		}
		var d doneMark
		got := false
		for rest := text; len(rest) > 0; {
			n := min(len(rest), rapid.IntRange(1, 9).Draw(t, "n"))
			got = d.find(rest[:n]) || got
			rest = rest[n:]
		}
		if got != want {
			t.Fatalf("%q: found %v, the parser %v", text, got, want)
		}
	})
}

// several reports whether some event has more than one line.
func several(lines []string) bool {
	before := false
	for _, l := range lines {
		if l != "" && before {
			return true
		}
		before = l != ""
	}
	return false
}

func TestDoneMarkAllocatesNothing(t *testing.T) {
	var d doneMark
	read := bytes.Repeat([]byte("data: {\"choices\":[]}\n\n"), 10)
	d.find(read)
	if n := testing.AllocsPerRun(100, func() { d.find(read) }); n != 0 {
		t.Errorf("%v allocations a read", n)
	}
}
