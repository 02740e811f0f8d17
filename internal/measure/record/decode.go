package record

import (
	"bytes"
	"encoding/json"
	"errors"

	"treeline/internal/wire/openai"
)

// decoder decodes the chunks of one stream, where most are alike. Chunks of the usual form are scanned in place; what is
// unusual, and what is no JSON, goes to encoding/json, and both ways give the same (FuzzChunk). A chunk of the usual
// form costs an allocation for its text and none for what repeats.
type decoder struct {
	scanner
	c     chunk
	room  []choice // for the choices of the next chunk
	delta delta    // of the first choice
	lent  bool     // c uses delta

	object, model, role string // as they came last
}

// decodeChunk decodes a whole answer or another body that is read once.
func decodeChunk(b []byte) (chunk, error) { return new(decoder).decode(b) }

// decode reads one JSON object. Only bytes that are no JSON at all are an error. The chunk is valid until the next one
// is decoded; its strings, usage and timings stay.
func (d *decoder) decode(b []byte) (chunk, error) {
	c, ok := d.usual(b)
	if !ok {
		var err error
		if c, err = anyChunk(b); err != nil {
			return c, err
		}
	}
	if c.Content != nil && c.Choices == nil && c.Object == nil {
		ch := choice{Text: *c.Content, TokenIDs: c.Tokens}
		if c.Stop {
			ch.Finish = "stop"
		}
		c.Choices = []choice{ch}
	}
	return c, nil
}

// anyChunk decodes whatever a server may send.
func anyChunk(b []byte) (chunk, error) {
	var c chunk
	err := json.Unmarshal(b, &c)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) && bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		err = nil // everything of the right type has been filled in
	}
	return c, err
}

// usual decodes a chunk of the usual form, if it is one.
func (d *decoder) usual(b []byte) (c chunk, ok bool) {
	d.scanner, d.c, d.lent = scanner{b: b}, chunk{}, false
	d.members(d.member)
	d.next()
	return d.c, !d.gone && d.at == len(b)
}

func (d *decoder) member(key []byte) uint {
	c := &d.c
	switch string(key) {
	case "choices":
		c.Choices = d.choices()
		return 1
	case "model":
		c.Model = d.repeated(&d.model)
		return 2
	case "object":
		if !d.null() {
			d.repeated(&d.object)
			c.Object = &d.object
		}
		return 3
	case "usage":
		c.Usage = d.usage()
		return 4
	case "timings":
		d.rare(&c.Timings)
		return 5
	case "content":
		if !d.null() {
			text := d.text()
			c.Content = &text
		}
		return 6
	case "tokens":
		c.Tokens = d.tokens()
		return 7
	case "stop":
		c.Stop = d.boolean()
		return 8
	case "error":
		d.other(&c.Error)
		return 9
	case "message":
		d.other(&c.Message)
		return 10
	case "detail":
		d.other(&c.Detail)
		return 11
	}
	d.skip()
	return 0
}

// rare leaves a member to encoding/json unless it is null.
func (d *decoder) rare(v any) {
	if !d.null() {
		d.other(v)
	}
}

func (d *decoder) choices() []choice {
	if d.null() {
		return nil
	}
	const most = 16 // that are kept room for
	out := d.room
	if out == nil || cap(out) > most {
		out = make([]choice, 0, 1)
	}
	d.elements(func() { out = append(out, d.choice()) })
	d.room = out[:0]
	return out
}

func (d *decoder) choice() (c choice) {
	d.members(func(key []byte) uint {
		switch string(key) {
		case "index":
			c.Index = d.integer()
			return 1
		case "delta":
			c.Delta = d.message()
			return 2
		case "message":
			c.Message = d.message()
			return 3
		case "text":
			c.Text = d.text()
			return 4
		case "finish_reason":
			c.Finish = d.text()
			return 5
		case "token_ids":
			c.TokenIDs = d.tokens()
			return 6
		}
		d.skip()
		return 0
	})
	return c
}

func (d *decoder) message() *delta {
	if d.null() {
		return nil
	}
	m := &d.delta
	if d.lent {
		m = new(delta)
	}
	*m, d.lent = delta{}, true
	d.members(func(key []byte) uint {
		switch string(key) {
		case "content":
			m.Content = d.text()
			return 1
		case "role":
			m.Role = d.repeated(&d.role)
			return 2
		case "refusal":
			m.Refusal = d.text()
			return 3
		case "reasoning_content":
			m.ReasoningContent = d.text()
			return 4
		case "reasoning":
			m.Reasoning = d.text()
			return 5
		case "reasoning_details":
			d.rare(&m.ReasoningDetails)
			return 6
		case "tool_calls":
			d.rare(&m.ToolCalls)
			return 7
		}
		d.skip()
		return 0
	})
	return m
}

func (d *decoder) tokens() []int32 {
	if d.null() {
		return nil
	}
	out := []int32{}
	d.elements(func() { out = append(out, int32(d.integer())) })
	return out
}

func (d *decoder) usage() *openai.Usage {
	if d.null() {
		return nil
	}
	u := &openai.Usage{}
	d.members(func(key []byte) uint {
		switch string(key) {
		case "prompt_tokens":
			u.PromptTokens = d.integer()
			return 1
		case "completion_tokens":
			u.CompletionTokens = d.integer()
			return 2
		case "total_tokens":
			u.TotalTokens = d.integer()
			return 3
		case "prompt_tokens_details":
			d.rare(&u.PromptTokensDetails)
			return 4
		case "completion_tokens_details":
			d.rare(&u.CompletionTokensDetails)
			return 5
		}
		d.skip()
		return 0
	})
	return u
}
