package sse

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// parse feeds pieces as reads 1, 2, ... at stamps 10, 20, ...
func parse(t interface{ Fatal(...any) }, pieces ...string) []Event {
	var p Parser
	var got []Event
	keep := func(e Event) {
		e.Data = bytes.Clone(e.Data) // it is the parser's until emit returns
		got = append(got, e)
	}
	for i, s := range pieces {
		if err := p.Feed([]byte(s), int64(10*(i+1)), i+1, keep); err != nil {
			t.Fatal(err)
		}
	}
	p.Close(keep)
	return got
}

func datas(events []Event) []string {
	var out []string
	for _, e := range events {
		s := string(e.Data)
		if e.Truncated {
			s += "|cut"
		}
		if e.Name != "" {
			s = e.Name + "=" + s
		}
		out = append(out, s)
	}
	return out
}

func TestFraming(t *testing.T) {
	tests := []struct {
		name string
		in   []string
		want []string
	}{
		{"LF", []string{"data: a\n\ndata: b\n\n"}, []string{"a", "b"}},
		{"CRLF", []string{"data: a\r\n\r\ndata: b\r\n\r\n"}, []string{"a", "b"}},
		{"CR", []string{"data: a\r\rdata: b\r\r"}, []string{"a", "b"}},
		{"CR at the end of a read, LF at the start of the next", []string{"data: a\r", "\n\r\ndata:b\r\r"}, []string{"a", "b"}},
		{"CRLF then CRLF split everywhere", []string{"data: a\r", "\n", "\r", "\n", "data: b\r", "\n", "\r", "\n"}, []string{"a", "b"}},
		{"no space", []string{"data:a\n\n"}, []string{"a"}},
		{"only one space is stripped", []string{"data:  a\n\n"}, []string{" a"}},
		{"done without space", []string{"data:[DONE]\n\n"}, []string{"[DONE]"}},
		{"multi-line data", []string{"data: a\ndata: b\ndata\n\n"}, []string{"a\nb\n"}},
		{"fields", []string{"event: error\nid: 7\nretry: 3\nfoo: x\ndata: a\n\n"}, []string{"error=a"}},
		{"name is forgotten", []string{"event: x\n\ndata: a\n\n"}, []string{"a"}},
		{"comments", []string{": ping\n\ndata: a\n: ping\n\n"}, []string{"a"}},
		{"BOM", []string{"\xef\xbb\xbfdata: a\n\n"}, []string{"a"}},
		{"BOM split", []string{"\xef", "\xbb", "\xbfdata: a\n\n"}, []string{"a"}},
		{"BOM only once", []string{"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n"}, nil},
		{"half a BOM is text", []string{"\xef\xbb", "data: a\n\ndata: b\n\n"}, []string{"b"}},
		{"unicode line separators are text", []string{"data: a\u2028b\u2029c\u0085d\ve\n\n"}, []string{"a\u2028b\u2029c\u0085d\ve"}},
		{"emoji over two reads", []string{"data: \xf0\x9f", "\x98\x80\n\n"}, []string{"😀"}},
		{"space at the start of a read", []string{"data: Hello", " world\n\n"}, []string{"Hello world"}},
		{"no final empty line", []string{"data: a\n\ndata: b\n"}, []string{"a", "b|cut"}},
		{"half a line", []string{"data: a\n\ndata: b"}, []string{"a", "b|cut"}},
		{"half a field name", []string{"data: a\n\nda"}, []string{"a", "|cut"}},
		{"empty data is an event", []string{"data:\n\n"}, []string{""}},
		{"nothing", []string{""}, nil},
		{"only line ends", []string{"\n\r\n\r\r\n"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, datas(parse(t, tt.in...))); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStamps(t *testing.T) {
	got := parse(t, "data: a\n\nda", "ta: b\n", "\ndata: c\n\ndata: d\n\n")
	want := []Event{
		{Data: []byte("a"), Began: 10, At: 10, Read: 1, Size: 9},
		{Data: []byte("b"), Began: 10, At: 30, Read: 3, Size: 9},
		{Data: []byte("c"), Began: 30, At: 30, Read: 3, Size: 9},
		{Data: []byte("d"), Began: 30, At: 30, Read: 3, Size: 9},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// feed gives b in reads of n bytes, into a buffer that is used again, and returns what came and the largest buffer kept.
func feed(p *Parser, b []byte, n int) (got []string, err error) {
	buf := make([]byte, n)
	for i := 1; len(b) > 0; i++ {
		m := copy(buf, b)
		b = b[m:]
		if err := p.Feed(buf[:m], int64(i), i, func(e Event) { got = append(got, string(e.Data)) }); err != nil {
			return got, err
		}
	}
	return got, nil
}

func TestLongEvents(t *testing.T) {
	for _, n := range []int{70 << 10, 3 << 20, MaxEvent} {
		for _, size := range []int{4 << 10, n + 100} {
			var p Parser
			want := strings.Repeat("x", n)
			got, err := feed(&p, []byte("data: "+want+"\n\ndata: y\n\n"), size)
			if err != nil || len(got) != 2 || got[0] != want || got[1] != "y" {
				t.Errorf("%d bytes in reads of %d: got %d events, error %v", n, size, len(got), err)
			}
			if kept := cap(p.line) + cap(p.buffer); kept > 2*keepBuffer {
				t.Errorf("%d bytes in reads of %d: the parser keeps %d bytes for the next event", n, size, kept)
			}
		}
	}
}

func TestTooLong(t *testing.T) {
	long := strings.Repeat("x", MaxEvent+1)
	for name, in := range map[string]string{"data": "data: " + long, "name": "event: " + long, "lines": "data: " + long[:MaxEvent/2] + "\ndata: " + long[:MaxEvent/2+1]} {
		for _, size := range []int{64 << 10, 3 * MaxEvent} {
			var p Parser
			if got, err := feed(&p, []byte(in+"\n\n"), size); !errors.Is(err, ErrTooLong) || len(got) > 0 {
				t.Errorf("%s above the limit in reads of %d: got %d events and error %v, want ErrTooLong", name, size, len(got), err)
			}
		}
	}
}

// Long names and ids come through, and nothing of them is kept.
func TestLongNames(t *testing.T) {
	var p Parser
	long := strings.Repeat("x", 1<<20)
	var got []int
	b := []byte("event: " + long + "\nid: " + long + "\ndata: a\n\n")
	if err := p.Feed(b, 1, 1, func(e Event) { got = append(got, len(e.Name), len(e.ID), len(e.Data)) }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1 << 20, 1 << 20, 1}, got); diff != "" {
		t.Errorf("lengths (-want +got):\n%s", diff)
	}
	if kept := cap(p.name) + cap(p.id) + len(p.lastName) + len(p.lastID); kept > 0 {
		t.Errorf("the parser keeps %d bytes of names", kept)
	}
}

// What means nothing is not kept, however long it is.
func TestCommentsAndUnknownFieldsAreNotKept(t *testing.T) {
	for _, start := range []string{": ", "retry: ", "nonsense", "x: "} {
		var p Parser
		got, err := feed(&p, []byte(start+strings.Repeat("x", 2*MaxEvent)+"\ndata: a\n\n"), 64<<10)
		if err != nil || len(got) != 1 || cap(p.line) > 2*64<<10 {
			t.Errorf("%q: got %q, error %v, line buffer of %d bytes", start, got, err, cap(p.line))
		}
	}
}

func TestNoAllocations(t *testing.T) {
	var p Parser
	event := []byte("event: message\nid: 7\ndata: " + strings.Repeat("x", 200) + "\n\n")
	var n int
	emit := func(e Event) { n += len(e.Data) }
	if got := testing.AllocsPerRun(100, func() { p.Feed(event, 1, 1, emit) }); got != 0 {
		t.Errorf("whole events: %v allocations an event, want 0", got)
	}
	if got := testing.AllocsPerRun(100, func() {
		for i := 0; i < len(event); i += 50 {
			p.Feed(event[i:min(i+50, len(event))], 1, 1, emit)
		}
	}); got != 0 {
		t.Errorf("events over several reads: %v allocations an event, want 0", got)
	}
}

func BenchmarkFeed(b *testing.B) {
	event := []byte("data: " + strings.Repeat("x", 212) + "\n\n")
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	var p Parser
	n := 0
	for b.Loop() {
		p.Feed(event, 1, 1, func(e Event) { n += len(e.Data) })
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// Any division of the same bytes into reads gives the same events.
func TestSplitLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.SampledFrom([]string{
			"data: x", "data:é😀", "data", "event: e", ": c", "id: 1", "", "", "\xef\xbb\xbf", "junk",
		})).Draw(t, "lines")
		var b strings.Builder
		for _, l := range lines {
			b.WriteString(l)
			b.WriteString(rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "end"))
		}
		checkSplit(t, []byte(b.String()), rapid.SliceOf(rapid.IntRange(1, 7)).Draw(t, "cuts"))
	})
}

func checkSplit(t interface{ Fatal(...any) }, b []byte, cuts []int) {
	want := datas(parse(t, string(b)))
	if diff := cmp.Diff(datas(reference(b, len(b))), want); diff != "" {
		t.Fatal("not the events of the reference parser, " + string(b) + " (-reference +got):\n" + diff)
	}
	var single, split []string
	for i := range b {
		single = append(single, string(b[i:i+1]))
	}
	rest := string(b)
	for _, n := range cuts {
		n = min(n, len(rest))
		split = append(split, rest[:n])
		rest = rest[n:]
	}
	split = append(split, rest)
	for _, pieces := range [][]string{single, split} {
		got := parse(t, pieces...)
		if diff := cmp.Diff(want, datas(got)); diff != "" {
			t.Fatal("split changed the events of " + string(b) + " (-whole +split):\n" + diff)
		}
		if diff := cmp.Diff(reference(b, lengths(pieces)...), got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal("stamps of " + fmt.Sprintf("%q", pieces) + " (-reference +got):\n" + diff)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		"data: a\n\n", "data: a\r\n\r\n", "\xef\xbb\xbfdata: a\r\rdata: b", ": c\n\nevent: error\ndata: x\ndata: y\n\n", "\xef\xbb", "\r\n\r",
	} {
		f.Add([]byte(s), []byte{1, 2, 3})
	}
	f.Fuzz(func(t *testing.T, b, cuts []byte) {
		if len(b) > 1000 {
			return // the reference is slow, and long events have a test of their own
		}
		var ns []int
		for _, c := range cuts {
			ns = append(ns, int(c))
		}
		checkSplit(t, b, ns)
	})
}

func TestWriteReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.StringOf(rapid.RuneFrom([]rune("ab :\n\ré"))).Draw(t, "data")
		var b bytes.Buffer
		if err := Write(&b, "n", []byte(data)); err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(strings.ReplaceAll(data, "\r\n", "\n"), "\r", "\n")
		got := parse(t, b.String())
		if len(got) != 1 || string(got[0].Data) != want || got[0].Name != "n" || got[0].Truncated {
			t.Fatalf("wrote %q, read %v", data, got)
		}
	})
}
