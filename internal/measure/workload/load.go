package workload

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// maxFileBytes bounds a prompt file: far above any benchmark set, far below what would fill a laptop's memory.
const maxFileBytes = 256 << 20

// FileCategory is the category of prompts from a user's file that name none.
const FileCategory = "file"

// SyntaxError says where a prompt file could not be understood. Line and Col count from 1; Col counts bytes.
type SyntaxError struct {
	File      string
	Line, Col int
	Msg       string
}

// Error gives "file:line:col: message".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
}

// LoadFile reads prompts from a user's file: JSON objects, one a line or in one array, when it begins with "{" or "[",
// else one prompt a line of plain text. An object gives its prompt as "prompt", "text", OpenAI's "messages" or ShareGPT's
// "conversations" (of which the first question is asked), and may name "category", "id" and "max_tokens". Without an id
// the prompt gets one derived from its text, so that the same prompt pairs with itself across files. All errors of the
// file are reported, not only the first.
func LoadFile(path string) ([]Prompt, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read prompts: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read prompts %s: %w", path, err)
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("read prompts %s: larger than %d MB; split the file", path, maxFileBytes>>20)
	}
	return parseFile(path, data)
}

func parseFile(path string, data []byte) ([]Prompt, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	c := collector{path: path, firstLine: map[string]int{}}
	switch start := bytes.TrimSpace(data); {
	case bytes.HasPrefix(start, []byte("[")):
		c.array(data)
	default:
		c.lines(data, bytes.HasPrefix(start, []byte("{")))
	}
	if len(c.errs) > 0 {
		return nil, errors.Join(c.errs...)
	}
	if len(c.prompts) == 0 {
		return nil, &SyntaxError{File: path, Line: 1, Col: 1, Msg: "the file holds no prompt; write one a line, as text or as {\"prompt\": ...}"}
	}
	return c.prompts, nil
}

// collector gathers the prompts of a file, and its errors.
type collector struct {
	path      string
	prompts   []Prompt
	errs      []error
	firstLine map[string]int // of each id
}

// maxErrors is how many faults are told: a file of the wrong kind has thousands, and the first ten say so.
const maxErrors = 10

func (c *collector) add(p Prompt, err error, line, col int) {
	if err == nil && c.firstLine[p.ID] > 0 {
		err = fmt.Errorf("the same prompt or id as in line %d; a repeated prompt would be answered from the server's cache, remove one", c.firstLine[p.ID])
	}
	if err != nil {
		c.errs = append(c.errs, &SyntaxError{File: c.path, Line: line, Col: col, Msg: err.Error()})
		return
	}
	c.firstLine[p.ID] = line
	c.prompts = append(c.prompts, p)
}

// lines reads one prompt a line.
func (c *collector) lines(data []byte, asJSON bool) {
	number := 0
	for line := range bytes.Lines(data) {
		number++
		content := bytes.TrimRight(line, "\r\n")
		if len(bytes.TrimSpace(content)) == 0 {
			continue
		}
		var p Prompt
		col, err := 1, error(nil)
		switch {
		case !utf8.Valid(content):
			col, err = 1+firstInvalid(content), errors.New("not valid UTF-8; convert the file")
		case asJSON:
			p, col, err = parseObject(content)
		default:
			p = newPrompt("", "", string(bytes.TrimSpace(content)))
		}
		if c.add(p, err, number, col); len(c.errs) == maxErrors {
			return
		}
	}
}

// array reads the objects of one JSON array.
func (c *collector) array(data []byte) {
	if !utf8.Valid(data) {
		line, col := position(data, firstInvalid(data))
		c.add(Prompt{}, errors.New("not valid UTF-8; convert the file"), line, col)
		return
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	fail := func(err error, offset int) {
		for offset >= 0 && offset < len(data) && (data[offset] == ' ' || data[offset] == '\n' || data[offset] == '\t' || data[offset] == '\r') {
			offset++ // the decoder names the place after the last good byte
		}
		line, col := position(data, offset)
		c.add(Prompt{}, err, line, col)
	}
	if _, err := dec.Token(); err != nil {
		fail(err, int(dec.InputOffset()))
		return
	}
	for dec.More() && len(c.errs) < maxErrors {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			at := int(dec.InputOffset())
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) {
				at = int(syntax.Offset) - 1
			}
			fail(fmt.Errorf("%w; the file must be one JSON array of objects", err), at)
			return
		}
		at := int(dec.InputOffset()) - len(raw)
		p, col, err := parseObject(raw)
		line, inLine := position(data, at+col-1)
		c.add(p, err, line, inLine)
	}
	if _, err := dec.Token(); err != nil && len(c.errs) == 0 {
		fail(fmt.Errorf("%w; the array is not closed", err), len(data))
	} else if _, err := dec.Token(); !errors.Is(err, io.EOF) && len(c.errs) == 0 {
		fail(errors.New("something follows the array; keep one array in the file"), int(dec.InputOffset()))
	}
}

// position turns an offset into line and column, from 1.
func position(data []byte, offset int) (line, col int) {
	before := data[:max(0, min(offset, len(data)))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

func newPrompt(id, category, text string, before ...Message) Prompt {
	if id == "" {
		h := sha256.New()
		for _, m := range before {
			fmt.Fprintf(h, "%s\x00%s\x00", m.Role, m.Content)
		}
		io.WriteString(h, text)
		id = "u-" + hex.EncodeToString(h.Sum(nil)[:6])
	}
	if category == "" {
		category = FileCategory
	}
	if len(before) == 0 {
		before = nil
	}
	return Prompt{ID: id, Category: category, Text: text, Before: before}
}

// errorColumn turns the offset of a JSON error, the number of bytes read before it was noticed, into a column.
func errorColumn(err error, line []byte) int {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(1)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	return int(max(1, min(offset, int64(len(line)))))
}

func firstInvalid(line []byte) int {
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRune(line[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return 0
}
