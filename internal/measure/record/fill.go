package record

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"treeline/internal/wire/openai"
	"treeline/internal/wire/sse"
)

// Fill computes from a stream that is held in memory everything in r that the answer decides.
func (s *Stream) Fill(r *Request) {
	f := NewFiller(r, s)
	if !s.IsEvents() {
		f.End() // it looks at the whole
		return
	}
	f.Feed(Piece{Reads: s.Reads, Bytes: s.Body})
	f.End()
}

// Filler computes from a stream everything in a request that the answer decides: stamps from the first byte on, events,
// text, usage, finish and success. It is a pure function of the stream, taken piece by piece as it arrives or is read
// from disk; the request keeps what it says about itself.
type Filler struct {
	r       *Request
	stream  *Stream
	parser  sse.Parser
	decoder decoder
	reads   int // fed so far
	broken  error

	texts     map[int]*strings.Builder // by choice
	reasoning strings.Builder
	tools     assembler // of the first choice
	counted   int       // completion tokens by the running usage
	running   bool      // the server sends a running usage: its growth tells arrivals
	finished  bool
	choices   int
	done      bool
	fell      bool            // a usage was smaller than the one before
	tail      []*openai.Usage // usage chunks without choices
	failure   string
	cut       bool
	finish    int // index of the event that carried the finish reason, -1 none
}

// mostExpected is for how many events room is made before they come.
const mostExpected = 8192

// NewFiller begins to fill r. The header's members of s must be set; those of its end are read by End.
func NewFiller(r *Request, s *Stream) *Filler {
	r.Status, r.Proto, r.OK, r.ErrorClass, r.Error = s.Status, s.Proto, false, "", ""
	r.FirstByte, r.First, r.FirstOut, r.Last, r.Done, r.Censored = -1, -1, -1, -1, -1, false
	r.Usage, r.Timings, r.Finish, r.Model, r.Text, r.Reasoning, r.Events = nil, nil, "", "", "", "", nil
	r.Others, r.Tools, r.Heartbeats, r.Notes = nil, nil, 0, nil
	if n := min(r.MaxTokens, mostExpected); n > 0 && s.IsEvents() {
		r.Events = make([]Event, 0, n+4) // one a token is the most that is usual: grown by doubling they would leave as much waste
	}
	return &Filler{r: r, stream: s, texts: map[int]*strings.Builder{}, finish: -1}
}

// Feed takes the next piece. A body that is no stream of events is kept in the stream, for End to look at as a whole.
func (f *Filler) Feed(p Piece) {
	if f.r.FirstByte < 0 && len(p.Reads) > 0 {
		f.r.FirstByte = p.Reads[0].At
	}
	if !f.stream.IsEvents() {
		if len(f.stream.Body) < MaxBody {
			f.stream.Append(p)
		}
		return
	}
	f.events(p)
}

func (f *Filler) events(p Piece) {
	n := 0
	for _, read := range p.Reads {
		f.reads++
		end := min(n+read.N, len(p.Bytes))
		if f.broken == nil {
			f.broken = f.parser.Feed(p.Bytes[n:end], read.At, f.reads, f.event)
		}
		n = end
	}
}

// End tells that the stream is over, and judges it.
func (f *Filler) End() {
	r, s := f.r, f.stream
	r.Censored = s.End == EndWindow
	if !f.done { // otherwise the answer was over with [DONE], however long its body stayed open
		r.Done = s.EndAt
	}
	if len(s.Reads) > 0 {
		r.FirstByte = s.Reads[0].At
	}
	if s.compressed() {
		r.note(NoteCompressed)
		s = s.inflated()
	}
	switch {
	case s.Status == 0 && r.Censored:
	case s.Status == 0:
		r.fail(s.Class, s.Error)
	case s.Status >= 300:
		r.fail(statusClass(s.Status), fmt.Sprintf("HTTP %d: %s", s.Status, ErrorMessage(s.Body)))
	case f.stream.IsEvents():
		f.conclude()
	case s.looksLikeEvents():
		f.events(Piece{Reads: s.Reads, Bytes: s.Body})
		f.conclude()
	default:
		s.fillWhole(r)
	}
	if len(r.Events) < cap(r.Events)/2 {
		r.Events = slices.Clone(r.Events)
	}
}

// fail makes a failure of r, unless it was cut off by us for no fault of its own.
func (r *Request) fail(class, text string) {
	r.OK = false
	if !r.Censored {
		r.ErrorClass, r.Error = class, text
	}
}

func (r *Request) note(code string) {
	if !slices.Contains(r.Notes, code) {
		r.Notes = append(r.Notes, code)
	}
}

func statusClass(status int) string {
	switch {
	case status < 400:
		return ClassHTTP3xx
	case status < 500:
		return ClassHTTP4xx
	}
	return ClassHTTP5xx
}

// looksLikeEvents recognises a stream by its bytes, where a proxy lost its type or compressed it.
func (s *Stream) looksLikeEvents() bool {
	start := bytes.TrimLeft(s.Body, "\ufeff\r\n")
	for _, mark := range []string{"data:", "event:", ":"} {
		if bytes.HasPrefix(start, []byte(mark)) {
			return true
		}
	}
	return false
}

// fillWhole reads a body that is one JSON answer. It is a success without any event: the server ignored stream.
func (s *Stream) fillWhole(r *Request) {
	if s.End != EndEOF && s.End != EndDone {
		r.fail(endClass(s.End), endText(s))
		return
	}
	c, err := decodeChunk(s.Body)
	if err == nil && c.failure() != "" {
		r.fail(ClassStream, c.failure())
		return
	}
	if err != nil || len(c.Choices) == 0 {
		r.fail(ClassNotSSE, fmt.Sprintf("HTTP %d with %q instead of a stream of events: %s", s.Status, s.ContentType, Excerpt(s.Body)))
		return
	}
	r.Text, r.Reasoning, _ = c.Choices[0].parts()
	for _, other := range c.Choices[1:] {
		text, _, _ := other.parts()
		r.Others = append(r.Others, text)
	}
	var tools assembler
	tools.add(c.Choices[0].tools())
	r.Tools = tools.calls
	r.Usage, r.Timings, r.Model, r.Finish = c.Usage, c.Timings, c.Model, c.Choices[0].Finish
	r.OK = true
	r.note(NoteNotStreamed)
	r.noteTokens()
	if gaveUp(r.Finish) {
		r.fail(ClassStream, gaveUpText(r.Finish))
	}
}

// gaveUp reports whether a finish reason says that the server stopped before the answer was whole. vLLM and SGLang have
// both words; what has come until then is shorter than an answer, and no success.
func gaveUp(finish string) bool { return finish == "abort" || finish == "error" }

func gaveUpText(finish string) string {
	return fmt.Sprintf("the server gave the answer up with finish_reason %q", finish)
}

func (f *Filler) event(e sse.Event) {
	ev := Event{At: e.At, Read: int32(e.Read), Bytes: int32(e.Size)}
	defer func() { f.r.Events = append(f.r.Events, ev) }()
	switch string(bytes.TrimSpace(e.Data)) {
	case "": // keeps the connection alive, as a comment does
		return
	case "[DONE]":
		ev.Kind = EventDone
		if !f.done {
			f.done, f.r.Done = true, e.At
		}
		return
	}
	c, err := f.decoder.decode(e.Data)
	switch {
	case err != nil && e.Truncated:
		f.cut = true
		return
	case err != nil:
		ev.Kind = EventError
		f.fault("malformed " + e.String())
		return
	case e.Name == "error" || c.failure() != "":
		ev.Kind = EventError
		text := c.failure()
		if text == "" {
			text = Excerpt(e.Data)
		}
		f.fault(text)
		return
	}
	was := f.finished
	if e.Truncated {
		f.r.note(NoteTailUnclosed)
	}
	kind, tokens := f.chunk(c)
	ev.Kind, ev.Tokens = kind, int32(tokens)
	if f.finished && !was {
		f.finish = len(f.r.Events)
	}
	if ev.Kind.Generates() {
		if f.r.First < 0 {
			f.r.First = e.At
		}
		if (ev.Kind == EventText || ev.Kind == EventTool) && f.r.FirstOut < 0 {
			f.r.FirstOut = e.At
		}
		f.r.Last = e.At
	}
}

func (f *Filler) fault(text string) {
	if f.failure == "" {
		f.failure = text
	}
}

// chunk takes in one decoded event and says what it was and how many tokens it brought, 0 when that is unknown.
func (f *Filler) chunk(c chunk) (kind EventKind, tokens int) {
	kind = EventOther
	if c.Model != "" {
		f.r.Model = c.Model
	}
	if c.Timings != nil {
		f.r.Timings = c.Timings
	}
	finished := false
	for _, ch := range c.Choices {
		kind, tokens, finished = f.choice(ch, kind, tokens, finished)
	}
	if c.Usage != nil {
		f.fell = f.fell || (f.r.Usage != nil && c.Usage.CompletionTokens < f.r.Usage.CompletionTokens)
		f.r.Usage = c.Usage
		if len(c.Choices) == 0 {
			f.tail = append(f.tail, c.Usage)
			return EventUsage, 0
		}
		grown := f.grown(c.Usage.CompletionTokens, kind, finished)
		if tokens == 0 {
			tokens = grown
		}
		if grown > 0 && !kind.Generates() {
			kind = EventTokens
		}
		if kind == EventOther {
			kind = EventUsage
		}
	}
	return kind, tokens
}

func (f *Filler) choice(ch choice, kind EventKind, tokens int, finished bool) (EventKind, int, bool) {
	if ch.Index < 0 || ch.Index >= maxIndex {
		ch.Index = 0
	}
	f.choices = max(f.choices, ch.Index+1)
	text, reasoning, tool := ch.parts()
	if f.texts[ch.Index] == nil {
		f.texts[ch.Index] = &strings.Builder{}
	}
	f.texts[ch.Index].WriteString(text)
	if ch.Index == 0 {
		f.reasoning.WriteString(reasoning)
		f.tools.add(ch.tools())
	}
	tokens += len(ch.TokenIDs)
	if ch.Finish != "" {
		finished, f.finished, f.r.Finish = true, true, ch.Finish
		if gaveUp(ch.Finish) {
			f.fault(gaveUpText(ch.Finish))
		}
	}
	switch {
	case text != "":
		kind = EventText
	case kind.Generates():
	case tool:
		kind = EventTool
	case reasoning != "":
		kind = EventReasoning
	case len(ch.TokenIDs) > 0:
		kind = EventTokens
	case finished:
		kind = EventFinish
	case ch.Delta != nil && ch.Delta.Role != "" && kind == EventOther:
		kind = EventRole
	}
	return kind, tokens, finished
}

// grown returns by how much a running usage grew. A usage that comes first with the finish is a total, not an arrival;
// and the first running usage tells the sizes of the events before it only when each of them can hold just one token.
func (f *Filler) grown(total int, kind EventKind, finished bool) int {
	if !f.running {
		if finished {
			return 0
		}
		f.running = true
		before := 0
		for _, e := range f.r.Events {
			if e.Kind.Generates() {
				before++
			}
		}
		if before > 0 {
			f.counted = total
			if kind.Generates() && total == before+1 {
				for i := range f.r.Events {
					if f.r.Events[i].Kind.Generates() && f.r.Events[i].Tokens == 0 {
						f.r.Events[i].Tokens = 1
					}
				}
				return 1
			}
			return 0
		}
	}
	grown := total - f.counted
	f.counted = max(f.counted, total)
	return max(grown, 0)
}

// conclude applies the success rule: a 2xx status, at least one finished choice, no error object, no broken read.
// [DONE] alone is not success.
func (f *Filler) conclude() {
	r, s := f.r, f.stream
	if f.broken != nil {
		r.fail(ClassStream, f.broken.Error())
		return
	}
	f.parser.Close(f.event)
	r.Heartbeats = f.parser.Comments()
	if t := f.texts[0]; t != nil {
		r.Text = t.String()
	}
	r.Reasoning, r.Tools = f.reasoning.String(), f.tools.calls
	for i := 1; i < f.choices; i++ {
		text := ""
		if t := f.texts[i]; t != nil {
			text = t.String()
		}
		r.Others = append(r.Others, text)
	}
	if !f.sumChoices() && f.fell && f.choices < 2 { // vLLM's running usage counts each choice by itself
		r.note(NoteUsageFell)
	}
	f.settle()
	r.noteTokens()
	if f.finished && !f.done {
		r.note(NoteNoDone)
	}
	n, known := r.OutputTokens()
	complete := f.finished || (known && n > 0 && f.done)
	switch {
	case f.failure != "":
		r.fail(ClassStream, f.failure)
	case s.End == EndError || s.End == EndTimeout || s.End == EndCancelled || s.End == EndWindow:
		if complete && f.done {
			r.OK, r.Censored = true, false // what broke came after the answer was over
			return
		}
		r.fail(endClass(s.End), endText(s))
	case complete:
		r.OK = true
	case f.choices == 0 && !f.cut:
		r.fail(ClassEmpty, "the stream ended without a single choice")
	default:
		r.fail(ClassTruncated, fmt.Sprintf("the stream ended after %d events without a finish reason", len(r.Events)))
	}
}

// sumChoices repairs llama.cpp's usage for n > 1: one usage chunk per choice, each counting its own choice only. It
// reports whether it was so.
func (f *Filler) sumChoices() bool {
	if f.choices < 2 || len(f.tail) != f.choices {
		return false
	}
	sum := *f.tail[0]
	for _, u := range f.tail[1:] {
		sum.CompletionTokens += u.CompletionTokens
	}
	sum.TotalTokens = sum.PromptTokens + sum.CompletionTokens
	f.r.Usage = &sum
	return true
}

// settle gives tokens that no event accounts for to the event with the finish reason. The end token of an answer is
// counted by most servers and carried by none, and text can be held back to the end; both were there at the latest when
// the answer was finished. Without this the time per token of such answers would be too short.
func (f *Filler) settle() {
	r := f.r
	n, known := r.OutputTokens()
	counted := f.running && f.counted >= n // the running usage accounted for all of them before
	if !known || counted || f.finish < 0 || f.choices > 1 || r.Events[f.finish].Kind.Generates() {
		return
	}
	events, sum, sized := 0, 0, true
	for _, e := range r.Events {
		if e.Kind.Generates() {
			events++
			sum += int(e.Tokens)
			sized = sized && e.Tokens > 0
		}
	}
	if events == 0 || (sized && sum >= n) || (!sized && events >= n) {
		return
	}
	e := &r.Events[f.finish]
	e.Kind = EventTokens
	if sized {
		e.Tokens = int32(n - sum)
	}
	r.Last = e.At
}

func endClass(e End) string {
	switch e {
	case EndTimeout:
		return ClassTimeout
	case EndCancelled:
		return ClassCancelled
	}
	return ClassTruncated
}

func endText(s *Stream) string {
	if s.Error != "" {
		return s.Error
	}
	return "the stream ended by " + string(s.End)
}
