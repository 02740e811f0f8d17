package loadgen_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"treeline/internal/measure/loadgen"
	"treeline/internal/measure/metric"
	"treeline/internal/measure/record"
	"treeline/internal/measure/simserver"
)

// streamCase is one stream of the field and what it means. Its script is a transcript (simserver.ParseTranscript); want
// lists what the case is about as key=value words, checked in every way of playing it, those of time only at 1x.
type streamCase struct {
	number string // of the list in docs/verified.md
	about  string
	script string
	want   string
	most   int // max_tokens of the request
}

// TestCases plays every case in three ways through the client: at its times, at once, and byte by byte. Times are exact
// to the nanosecond; the events must be the same in all three. Run it with -v to see the list.
func TestCases(t *testing.T) {
	var all []streamCase
	for _, group := range [][]streamCase{timingCases(), usageCases(), framingCases(), endingCases(), reportedCases()} {
		all = append(all, group...)
	}
	var table strings.Builder
	for _, c := range all {
		row := fmt.Sprintf("%4s  %-62s", c.number, c.about)
		t.Run(c.number+" "+c.about, func(t *testing.T) {
			script, err := simserver.ParseTranscript("script", c.script)
			if err != nil {
				t.Fatal(err)
			}
			events := map[string]string{}
			for _, how := range []string{simserver.AsWritten, simserver.AtOnce, simserver.ByteWise} {
				r := playCase(t, script, how, c.most)
				events[how] = eventList(r)
				checkCase(t, how, r, c.want)
				mark := " ok"
				if t.Failed() {
					mark = " FAILED"
				}
				row += "  " + how + mark
			}
			for how, got := range events {
				if diff := cmp.Diff(events[simserver.AsWritten], got); diff != "" {
					t.Errorf("events played as %s differ (-1x +%s):\n%s", how, how, diff)
				}
			}
		})
		table.WriteString(row + "\n")
	}
	for _, c := range specialCases() {
		mark := "ok"
		if !t.Run(c.number+" "+c.about, c.check) {
			mark = "FAILED"
		}
		fmt.Fprintf(&table, "%4s  %-62s  %s\n", c.number, c.about, mark)
	}
	t.Logf("%d cases:\n%s", len(all)+len(specialCases()), table.String())
}

// playCase sends one request to a server that answers with the script.
func playCase(t *testing.T, script simserver.Transcript, how string, most int) (r record.Request) {
	synctest.Test(t, func(t *testing.T) {
		c := loadgen.NewClient(loadgen.ClientOptions{Base: "http://server", Idle: time.Minute, Dial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				req, err := http.ReadRequest(bufio.NewReader(theirs))
				if err != nil {
					return
				}
				io.Copy(io.Discard, req.Body)
				script.Play(theirs, how, time.Sleep)
			}()
			return ours, nil
		}})
		defer c.Close()
		r.MaxTokens = most
		c.Do(t.Context(), []byte(`{}`), &r).Fill(&r)
		time.Sleep(time.Hour) // let the server's side end
	})
	return r
}

// eventList is what the events said, without their times.
func eventList(r record.Request) string {
	var b strings.Builder
	for _, e := range r.Events {
		fmt.Fprintf(&b, "%v:%d:%d\n", e.Kind, e.Tokens, e.Bytes)
	}
	return fmt.Sprintf("%s%q %q %q %v %v", b.String(), r.Text, r.Reasoning, r.Others, r.Tools, r.Notes)
}

// checkCase compares the words of want with what r has.
func checkCase(t *testing.T, how string, r record.Request, want string) {
	t.Helper()
	for _, word := range words(want) {
		key, value, _ := strings.Cut(word, "=")
		if timed[key] && how != simserver.AsWritten {
			continue
		}
		if got := facts(&r, key); got != value {
			t.Errorf("played as %s: %s is %s, want %s (error %q)", how, key, got, value, r.Error)
		}
	}
}

// words splits at spaces outside of quotes.
func words(s string) []string {
	quoted := false
	return strings.FieldsFunc(s, func(c rune) bool {
		if c == '"' {
			quoted = !quoted
		}
		return (c == ' ' || c == '\n' || c == '\t') && !quoted
	})
}

var timed = map[string]bool{
	"ttft": true, "ttfo": true, "tpot": true, "tpot_vllm": true, "icl": true, "chunk": true, "e2e": true, "tail": true, "nfirst": true, "sizes": true, "end": true,
}

// facts is one property of a request in words; times are in milliseconds, - is "undefined".
func facts(r *record.Request, key string) string {
	switch key {
	case "ok":
		if r.OK {
			return "yes"
		}
		return r.ErrorClass
	case "ttft":
		return gap(r.Wrote, r.First)
	case "ttfo":
		return gap(r.Wrote, r.FirstOut)
	case "e2e":
		return gap(r.Wrote, r.Last)
	case "tail":
		return gap(r.Last, r.Done)
	case "end":
		return gap(r.Wrote, r.Done)
	case "tpot":
		if v, ok := metric.TPOT(r); ok {
			return number(v)
		}
		return "-"
	case "tpot_vllm", "icl", "chunk":
		return values(r, map[string]string{"tpot_vllm": "tpot_vllm_ms", "icl": "icl_ms", "chunk": "tokens_per_chunk"}[key])
	case "n":
		if n, ok := r.OutputTokens(); ok {
			return strconv.Itoa(n)
		}
		return "unknown"
	case "in":
		if r.Usage == nil {
			return "unknown"
		}
		return strconv.Itoa(r.Usage.PromptTokens)
	case "nfirst":
		n, known := metric.FirstTokens(r)
		if !known {
			return "unknown"
		}
		return strconv.Itoa(n)
	case "sizes": // tokens by arrival
		var out []string
		for _, a := range r.Arrivals() {
			out = append(out, strconv.Itoa(a.Tokens))
		}
		return strings.Join(out, ",")
	case "tokens": // by generating event
		var out []string
		for _, e := range r.Events {
			if e.Kind.Generates() {
				out = append(out, strconv.Itoa(int(e.Tokens)))
			}
		}
		return strings.Join(out, ",")
	case "text":
		return strconv.Quote(r.Text)
	case "reasoning":
		return strconv.Quote(r.Reasoning)
	case "others":
		return strconv.Quote(strings.Join(r.Others, "|"))
	case "tools":
		var out []string
		for _, c := range r.Tools {
			out = append(out, c.ID+":"+c.Name+":"+c.Arguments)
		}
		return strconv.Quote(strings.Join(out, "|"))
	case "generating":
		n := 0
		for _, e := range r.Events {
			if e.Kind.Generates() {
				n++
			}
		}
		return strconv.Itoa(n)
	case "events":
		return strconv.Itoa(len(r.Events))
	case "beats":
		return strconv.Itoa(r.Heartbeats)
	case "notes":
		return strings.Join(r.Notes, ",")
	case "finish":
		return r.Finish
	case "warns":
		var out []string
		for _, w := range metric.Warnings([]record.Request{*r}) {
			out = append(out, w.Code)
		}
		return strings.Join(out, ",")
	case "says": // whether the error's text holds a word is told by the cases' own tests
		return strconv.Quote(r.Error)
	}
	return "no such key"
}

func gap(from, to int64) string {
	if from < 0 || to < 0 {
		return "-"
	}
	return number(float64(to-from) / 1e6)
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func values(r *record.Request, name string) string {
	for _, m := range metric.All() {
		if m.Name != name {
			continue
		}
		var out []string
		for _, v := range m.Of(metric.NewView(r)) {
			out = append(out, number(v))
		}
		if len(out) == 0 {
			return "-"
		}
		return strings.Join(out, ",")
	}
	return "no such metric"
}
