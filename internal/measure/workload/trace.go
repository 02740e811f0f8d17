package workload

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Trace is recorded traffic: when requests came and how long they were. It holds no text.
type Trace []TraceRequest

// TraceRequest is one of them. Blocks are the ids of its prompt's blocks of TraceBlock tokens, where the trace tells
// them: equal ids are equal text.
type TraceRequest struct {
	At            time.Duration // from the first request
	Input, Output int           // tokens
	Blocks        []int
}

// TraceBlock is the number of tokens in a block of a Mooncake trace.
const TraceBlock = 512

// LoadTrace reads a trace in one of the public forms, which its first line tells: Mooncake (JSON lines with timestamp in
// ms, input_length, output_length, hash_ids), Azure (CSV with TIMESTAMP, ContextTokens, GeneratedTokens) and BurstGPT (CSV
// with Timestamp in s, Request tokens, Response tokens; failed requests, with no response, are left out). Faults are
// told with file, line and column. The requests come in the order of their times.
func LoadTrace(path string) (Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read trace %s: %w", path, err)
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("read trace %s: larger than %d MB; cut it", path, maxFileBytes>>20)
	}
	return parseTrace(path, data)
}

func parseTrace(path string, data []byte) (Trace, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var t Trace
	var err error
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		t, err = parseMooncake(path, data)
	} else {
		t, err = parseCSV(path, data)
	}
	switch {
	case err != nil:
		return nil, err
	case len(t) == 0:
		return nil, &SyntaxError{File: path, Line: 1, Col: 1, Msg: "the trace holds no request with an answer"}
	}
	slices.SortStableFunc(t, func(a, b TraceRequest) int { return cmp.Compare(a.At, b.At) })
	first := t[0].At
	for i := range t {
		t[i].At -= first
	}
	return t, nil
}

func parseMooncake(path string, data []byte) (t Trace, err error) {
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		fault := func(col int, err error) error {
			return &SyntaxError{File: path, Line: number, Col: col, Msg: err.Error()}
		}
		var r struct {
			Timestamp *float64 `json:"timestamp"`
			Input     *int     `json:"input_length"`
			Output    *int     `json:"output_length"`
			Blocks    []int    `json:"hash_ids"`
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fault(errorColumn(err, line), err)
		}
		if r.Timestamp == nil || r.Input == nil || r.Output == nil {
			return nil, fault(1, errors.New("a Mooncake request needs timestamp, input_length and output_length"))
		}
		if !(*r.Timestamp >= 0 && *r.Timestamp < 1e15) {
			return nil, fault(1, fmt.Errorf("timestamp is %g; it must be milliseconds from 0", *r.Timestamp))
		}
		if err := checkLengths(*r.Input, *r.Output); err != nil {
			return nil, fault(1, err)
		}
		t = append(t, TraceRequest{time.Duration(*r.Timestamp * float64(time.Millisecond)), *r.Input, *r.Output, r.Blocks})
	}
	return t, nil
}

// maxTraceTokens is above any context there is.
const maxTraceTokens = 10_000_000

func checkLengths(input, output int) error {
	if input < 1 || output < 1 || input > maxTraceTokens || output > maxTraceTokens {
		return fmt.Errorf("%d tokens of input and %d of output; both must be from 1 to %d", input, output, maxTraceTokens)
	}
	return nil
}

func parseCSV(path string, data []byte) (t Trace, err error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.ReuseRecord = true
	head, err := r.Read()
	if err != nil {
		return nil, csvFault(path, err)
	}
	column := func(names ...string) int {
		return slices.IndexFunc(head, func(h string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(strings.TrimSpace(h), n) })
		})
	}
	at, in, out := column("TIMESTAMP"), column("ContextTokens", "Request tokens"), column("GeneratedTokens", "Response tokens")
	if at < 0 || in < 0 || out < 0 {
		return nil, &SyntaxError{File: path, Line: 1, Col: 1, Msg: "no known trace: the first line must name TIMESTAMP, ContextTokens and GeneratedTokens (Azure), or Timestamp, Request tokens and Response tokens (BurstGPT), or be a JSON object of Mooncake's"}
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return nil, csvFault(path, err)
		}
		fault := func(i int, err error) error {
			line, col := r.FieldPos(i)
			return &SyntaxError{File: path, Line: line, Col: col, Msg: err.Error()}
		}
		when, err := parseTime(row[at])
		if err != nil {
			return nil, fault(at, err)
		}
		input, err := strconv.Atoi(strings.TrimSpace(row[in]))
		if err != nil {
			return nil, fault(in, fmt.Errorf("%q is no number of tokens", row[in]))
		}
		output, err := strconv.Atoi(strings.TrimSpace(row[out]))
		if err != nil {
			return nil, fault(out, fmt.Errorf("%q is no number of tokens", row[out]))
		}
		if output == 0 { // a failed request
			continue
		}
		if err := checkLengths(input, output); err != nil {
			return nil, fault(in, err)
		}
		t = append(t, TraceRequest{At: when, Input: input, Output: output})
	}
}

// csvFault tells where a CSV file broke off.
func csvFault(path string, err error) error {
	var parse *csv.ParseError
	switch {
	case errors.As(err, &parse):
		return &SyntaxError{File: path, Line: parse.Line, Col: parse.Column, Msg: parse.Err.Error()}
	case errors.Is(err, io.EOF):
		return &SyntaxError{File: path, Line: 1, Col: 1, Msg: "the file is empty"}
	}
	return fmt.Errorf("read trace %s: %w", path, err)
}

// parseTime reads seconds, or a date and time with up to nine decimals and no zone.
func parseTime(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if v, err := strconv.ParseFloat(s, 64); err == nil && v >= 0 && v < 1e9 {
		return time.Duration(v * float64(time.Second)), nil
	}
	when, err := time.Parse("2006-01-02 15:04:05.999999999", strings.TrimSuffix(s, "+00:00"))
	if err != nil {
		return 0, fmt.Errorf("%q is neither seconds nor a time such as 2023-11-16 18:15:46.6805900", s)
	}
	return when.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)), nil
}

// Moments are the times of the requests.
func (t Trace) Moments() []time.Duration {
	var out []time.Duration
	for _, r := range t {
		out = append(out, r.At)
	}
	return out
}

// Prompts gives every request a prompt of about its length: as many short common words as it had tokens, most of which
// are one token to most tokenizers. The true number is in the answer's usage; chat templates add theirs.
//
// Every prompt begins with the seed, so that nothing of a load with another seed is found in a cache. Where the trace
// tells blocks, equal ids then give equal text at the same place, and a prefix cache meets what it met in the recorded
// traffic. Elsewhere the request's number follows, and no prompt finds another's beginning.
func (t Trace) Prompts(seed int64) []Prompt {
	out := make([]Prompt, len(t))
	for i, r := range t {
		out[i] = Prompt{
			ID: fmt.Sprintf("trace-%06d", i), Category: "trace", MaxTokens: r.Output, Tokens: r.Input, Shares: len(r.Blocks) > 0,
			Make: func() string { return r.text(seed, i) },
		}
	}
	return out
}

// text is the prompt of request number i. Its first word, the mark, counts as one of those wanted.
func (r TraceRequest) text(seed int64, i int) string {
	var b strings.Builder
	left := r.Input - 1
	if len(r.Blocks) > 0 {
		fmt.Fprintf(&b, "[%d]", seed)
	} else {
		fmt.Fprintf(&b, "[%d.%d]", seed, i)
	}
	for k, block := range r.Blocks {
		n := TraceBlock
		if k == 0 {
			n-- // for the mark
		}
		n = min(n, left)
		filler(&b, uint64(block), n)
		left -= n
	}
	filler(&b, uint64(i)+1<<32, left) // all of it, or what the blocks leave open
	return b.String()
}

// filler writes n words that depend on key alone.
func filler(b *strings.Builder, key uint64, n int) {
	words := [...]string{"time", "year", "way", "day", "thing", "man", "world", "life", "hand", "part", "child", "eye", "place", "work", "week", "case"}
	x := key*0x9e3779b97f4a7c15 + 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b.WriteByte(' ')
		b.WriteString(words[x>>60])
	}
}
