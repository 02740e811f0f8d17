package record

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"treeline/internal/wire/openai"
)

// fastChunk decodes the chunks that nearly all streams consist of, in a fraction of the time that reflection takes. What
// it does not know for sure it leaves: it reports false for anything odd (known members that it does not read, keys
// twice or in another case, numbers that are no plain integers, invalid JSON), and decodeChunk takes the slow way. Where
// it reports true, the result is that of encoding/json. model is what earlier chunks said, whose string is used again.
func fastChunk(b []byte, model string) (c chunk, ok bool) {
	s := scanner{b: b}
	s.object(func(key string) {
		switch key {
		case "object":
			c.Object = s.stringOrNull("chat.completion.chunk")
		case "model":
			if p := s.stringOrNull(model); p != nil {
				c.Model = *p
			}
		case "choices":
			s.array(func() { c.Choices = append(c.Choices, s.choice()) })
			if c.Choices == nil && !s.wasNull {
				c.Choices = []choice{}
			}
		case "usage":
			c.Usage = s.usage()
		case "timings", "error", "message", "detail", "content", "tokens", "stop":
			s.mustBeNull()
		default:
			s.skip()
		}
	})
	s.space()
	return c, !s.bad && s.i == len(b)
}

func (s *scanner) choice() (c choice) {
	s.object(func(key string) {
		switch key {
		case "index":
			c.Index = s.integer()
		case "delta":
			c.Delta = s.delta()
		case "text":
			c.Text = s.stringOrNull("")
		case "finish_reason":
			c.Finish = s.stringOrNull("")
		case "token_ids":
			s.array(func() { c.TokenIDs = append(c.TokenIDs, int32(s.integer())) })
			if c.TokenIDs == nil && !s.wasNull {
				c.TokenIDs = []int32{}
			}
		case "message":
			s.mustBeNull()
		default:
			s.skip()
		}
	})
	return c
}

func (s *scanner) delta() *delta {
	if s.null() {
		return nil
	}
	d := &delta{}
	s.object(func(key string) {
		switch key {
		case "role":
			if p := s.stringOrNull("assistant"); p != nil {
				d.Role = *p
			}
		case "content":
			d.Content = s.stringOrNull("")
		case "refusal":
			d.Refusal = s.stringOrNull("")
		case "reasoning_content":
			d.ReasoningContent = s.stringOrNull("")
		case "reasoning":
			d.Reasoning = s.stringOrNull("")
		case "reasoning_details", "tool_calls":
			s.mustBeNull()
		default:
			s.skip()
		}
	})
	return d
}

func (s *scanner) usage() *openai.Usage {
	if s.null() {
		return nil
	}
	u := &openai.Usage{}
	s.object(func(key string) {
		switch key {
		case "prompt_tokens":
			u.PromptTokens = s.integer()
		case "completion_tokens":
			u.CompletionTokens = s.integer()
		case "total_tokens":
			u.TotalTokens = s.integer()
		case "prompt_tokens_details", "completion_tokens_details":
			s.mustBeNull()
		default:
			s.skip()
		}
	})
	return u
}

// scanner walks over JSON. Once something is odd, bad is set, and what it returns means nothing.
type scanner struct {
	b       []byte
	i       int
	depth   int
	bad     bool
	wasNull bool // the last array was null
}

func (s *scanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\n' || s.b[s.i] == '\t' || s.b[s.i] == '\r') {
		s.i++
	}
}

// take takes a byte when it is the next one after spaces.
func (s *scanner) take(c byte) bool {
	s.space()
	if s.bad || s.i == len(s.b) || s.b[s.i] != c {
		return false
	}
	s.i++
	return true
}

func (s *scanner) want(c byte) {
	if !s.take(c) {
		s.bad = true
	}
}

func (s *scanner) null() bool { return s.word("null") }

func (s *scanner) word(w string) bool {
	s.space()
	if s.bad || !bytes.HasPrefix(s.b[s.i:], []byte(w)) {
		return false
	}
	s.i += len(w)
	return true
}

func (s *scanner) mustBeNull() {
	if !s.null() {
		s.bad = true
	}
}

// maxFastDepth bounds nesting, maxFastKeys the members of an object whose keys are compared.
const (
	maxFastDepth = 32
	maxFastKeys  = 32
)

// object calls member for every key; member takes the value. Keys that come twice are odd.
func (s *scanner) object(member func(key string)) {
	s.want('{')
	if s.depth++; s.depth > maxFastDepth {
		s.bad = true
	}
	var room [maxFastKeys]string
	keys := room[:0]
	for !s.bad && !s.take('}') {
		if len(keys) > 0 {
			s.want(',')
		}
		key := s.key()
		s.want(':')
		if s.bad || len(keys) == maxFastKeys || slices.Contains(keys, key) {
			s.bad = true
			return
		}
		keys = append(keys, key)
		member(key)
	}
	s.depth--
}

// array calls element for every element, which takes it. null is an array of nothing.
func (s *scanner) array(element func()) {
	if s.wasNull = s.null(); s.wasNull {
		return
	}
	s.want('[')
	if s.depth++; s.depth > maxFastDepth {
		s.bad = true
	}
	for n := 0; !s.bad && !s.take(']'); n++ {
		if n > 0 {
			s.want(',')
		}
		if !s.bad {
			element()
		}
	}
	s.depth--
	s.wasNull = false
}

// token is a string's bytes between its quotes, and whether they mean themselves.
func (s *scanner) token() (b []byte, plain bool) {
	s.want('"')
	plain = true
	start := s.i
	for ; !s.bad && s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return s.b[start : s.i-1], plain
		case c == '\\':
			plain = false
			s.i++
		case c < ' ':
			s.bad = true
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	s.bad = true
	return nil, false
}

// key is a member's name in lower case and ASCII; encoding/json takes others for the same in any case.
func (s *scanner) key() string {
	b, plain := s.token()
	for _, c := range b {
		plain = plain && (c < 'A' || c > 'Z')
	}
	if !plain {
		s.bad = true
		return ""
	}
	return known(b)
}

// known makes a string of a key without an allocation for the usual ones.
func known(b []byte) string {
	switch string(b) {
	case "id":
		return "id"
	case "object":
		return "object"
	case "created":
		return "created"
	case "model":
		return "model"
	case "choices":
		return "choices"
	case "index":
		return "index"
	case "delta":
		return "delta"
	case "content":
		return "content"
	case "role":
		return "role"
	case "finish_reason":
		return "finish_reason"
	case "logprobs":
		return "logprobs"
	case "usage":
		return "usage"
	case "prompt_tokens":
		return "prompt_tokens"
	case "completion_tokens":
		return "completion_tokens"
	case "total_tokens":
		return "total_tokens"
	}
	return string(b)
}

// stringOrNull reads a string; nil is null. A string equal to usual shares its memory.
func (s *scanner) stringOrNull(usual string) *string {
	if s.null() {
		return nil
	}
	s.space()
	begin := s.i
	b, plain := s.token()
	if s.bad {
		return nil
	}
	var text string
	switch {
	case plain && string(b) == usual:
		text = usual
	case plain:
		text = string(b)
	default:
		if json.Unmarshal(s.b[begin:s.i], &text) != nil {
			s.bad = true
		}
	}
	return &text
}

// integer reads a number without sign, fraction and exponent; null leaves 0.
func (s *scanner) integer() int {
	if s.null() {
		return 0
	}
	s.space()
	begin := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	digits := s.b[begin:s.i]
	if len(digits) == 0 || len(digits) > 9 || (digits[0] == '0' && len(digits) > 1) {
		s.bad = true
		return 0
	}
	n, err := strconv.Atoi(string(digits))
	s.bad = s.bad || err != nil || (s.i < len(s.b) && bytes.IndexByte([]byte(",]} \n\t\r"), s.b[s.i]) < 0)
	return n
}

// skip passes over a value that means nothing to us.
func (s *scanner) skip() {
	s.space()
	if s.bad || s.i == len(s.b) {
		s.bad = true
		return
	}
	switch c := s.b[s.i]; {
	case c == '"':
		begin := s.i
		if _, plain := s.token(); !plain && !json.Valid(s.b[begin:s.i]) {
			s.bad = true
		}
	case c == '{':
		s.object(func(string) { s.skip() })
	case c == '[':
		s.array(s.skip)
	case s.word("null"), s.word("true"), s.word("false"):
	default:
		begin := s.i
		for s.i < len(s.b) && bytes.IndexByte([]byte("+-.eE0123456789"), s.b[s.i]) >= 0 {
			s.i++
		}
		s.bad = s.bad || !json.Valid(s.b[begin:s.i])
	}
}
