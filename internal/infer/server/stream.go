package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"treeline/internal/infer/engine"
	"treeline/internal/wire/openai"
)

// stream writes one answer as server-sent events. Everything that one round brings goes out in one write and is
// flushed at once.
type stream struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	buf     bytes.Buffer
	enc     *json.Encoder
	started bool
}

func newStream(w http.ResponseWriter) *stream {
	s := &stream{w: w, rc: http.NewResponseController(w)}
	s.enc = json.NewEncoder(&s.buf)
	s.enc.SetEscapeHTML(false)
	return s
}

// add appends an event to what will be flushed.
func (s *stream) add(v any) error {
	s.buf.WriteString("data: ")
	if err := s.enc.Encode(v); err != nil {
		return err
	}
	s.buf.WriteByte('\n') // Encode wrote the first end of line
	return nil
}

// flush sends what was added. A reader that takes nothing for writeTimeout ends the request.
func (s *stream) flush() error {
	if s.buf.Len() == 0 {
		return nil
	}
	if !s.started {
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no") // proxies should not collect events
		s.started = true
	}
	s.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) // writers without deadlines have none
	_, err := s.buf.WriteTo(s.w)
	if err == nil {
		err = s.rc.Flush()
	}
	return err
}

// answerStream sends a chunk per round: the role before a choice's first text, text as it becomes free, then the
// finish reason with the timings, the usage when asked for, and [DONE]. Nothing is sent, not even a status, before
// the first round is there: until then a failure is a plain error answer.
func (s *Server) answerStream(w http.ResponseWriter, g *generation, a *engine.Answer) {
	out := newStream(w)
	choices := len(g.prompts) * g.n
	st := streamState{s: s, g: g, out: out, role: make([]bool, choices), total: make([]int, choices)}
	for left := choices; left > 0; {
		ev, err := a.Next()
		if err == nil && ev.Result != nil && ev.Result.Err != nil {
			err = ev.Result.Err
		}
		if err != nil {
			st.fail(err)
			return
		}
		if ev.Result != nil {
			left--
		}
		if err := st.event(&ev, left == 0); err != nil {
			return // the reader is gone; the request's context ends with the handler
		}
	}
}

type streamState struct {
	s     *Server
	g     *generation
	out   *stream
	role  []bool // the choice's role was sent
	total []int  // tokens of each choice so far
}

func (st *streamState) completion() int {
	sum := 0
	for _, n := range st.total {
		sum += n
	}
	return sum
}

// chunk adds one chunk with one choice.
func (st *streamState) chunk(c openai.Choice, timings *openai.Timings) error {
	r := st.s.envelope(st.g)
	r.Choices, r.Timings = []openai.Choice{c}, timings
	if c.FinishReason != nil {
		r.Seed = &st.g.seed
	}
	if st.g.stream.ContinuousUsageStats {
		r.Usage = st.g.usage(st.completion())
	}
	return st.out.add(&r)
}

func (st *streamState) event(ev *engine.Event, last bool) error {
	st.total[ev.Choice] = ev.Total
	c := openai.Choice{Index: ev.Choice}
	if st.g.chat && !st.role[ev.Choice] {
		c.Delta = &openai.Delta{Role: "assistant", Content: new(string)}
		if err := st.chunk(c, nil); err != nil {
			return err
		}
	}
	st.role[ev.Choice] = true
	if st.g.tokenIDs {
		c.TokenIDs = ev.Tokens
	}
	// A round whose text is held back (half a character, the beginning of a stop string) has nothing to say, unless
	// somebody follows the tokens.
	if ev.Text != "" || len(c.TokenIDs) > 0 {
		if st.g.chat {
			c.Delta = &openai.Delta{Content: &ev.Text}
		} else {
			c.Text = &ev.Text
		}
		if err := st.chunk(c, nil); err != nil {
			return err
		}
	}
	if ev.Result != nil {
		c = openai.Choice{Index: ev.Choice, FinishReason: &ev.Result.FinishReason}
		if st.g.chat {
			c.Delta = &openai.Delta{}
		} else {
			c.Text = new(string)
		}
		if err := st.chunk(c, &ev.Result.Timings); err != nil {
			return err
		}
	}
	if last {
		if st.g.stream.IncludeUsage {
			r := st.s.envelope(st.g)
			r.Usage, r.Timings, r.Seed = st.g.usage(st.completion()), &ev.Result.Timings, &st.g.seed
			if err := st.out.add(&r); err != nil {
				return err
			}
		}
		st.out.buf.WriteString("data: [DONE]\n\n")
	}
	return st.out.flush()
}

// fail ends the stream with an error: as a status when nothing was sent yet, else as an event without [DONE] after it.
func (st *streamState) fail(err error) {
	if !st.out.started {
		fail(st.out.w, err)
		return
	}
	st.out.buf.WriteString("data: ")
	st.out.buf.Write(asAPIError(err).body())
	st.out.buf.WriteString("\n\n")
	st.out.flush() // the reader may be gone already
}
