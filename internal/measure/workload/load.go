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

// LoadFile reads prompts from a user's file: one JSON object a line when the first line that is not blank starts with
// "{", else one prompt a line of plain text. An object gives its prompt as "prompt", "text" or "messages" (exactly one
// message, of the user), and may name "category" and "id". Without an id the prompt gets one derived from its text,
// so that the same prompt pairs with itself across files. All errors of the file are reported, not only the first.
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
	asJSON := bytes.HasPrefix(bytes.TrimSpace(data), []byte("{"))
	var prompts []Prompt
	var errs []error
	firstLine := map[string]int{} // of each id
	number := 0
	for line := range bytes.Lines(data) {
		number++
		content := bytes.TrimRight(line, "\r\n")
		if len(bytes.TrimSpace(content)) == 0 {
			continue
		}
		p, col, err := parseLine(content, asJSON)
		if err == nil && firstLine[p.ID] > 0 {
			err = fmt.Errorf("the same prompt or id as in line %d; a repeated prompt would be answered from the server's cache, remove one", firstLine[p.ID])
		}
		if err != nil {
			errs = append(errs, &SyntaxError{File: path, Line: number, Col: col, Msg: err.Error()})
			if len(errs) == 10 {
				break // a file of the wrong kind; the first ten say so
			}
			continue
		}
		firstLine[p.ID] = number
		prompts = append(prompts, p)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if len(prompts) == 0 {
		return nil, fmt.Errorf("read prompts %s: the file holds no prompt; write one a line, as text or as {\"prompt\": ...}", path)
	}
	return prompts, nil
}

// parseLine reads one line that is not blank. On failure it also gives the column.
func parseLine(line []byte, asJSON bool) (p Prompt, col int, err error) {
	if !utf8.Valid(line) {
		return p, 1 + firstInvalid(line), errors.New("not valid UTF-8; convert the file")
	}
	if !asJSON {
		return newPrompt("", "", string(bytes.TrimSpace(line))), 1, nil
	}
	var object struct {
		ID       string `json:"id"`
		Category string `json:"category"`
		Prompt   string `json:"prompt"`
		Text     string `json:"text"`
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(line, &object); err != nil {
		return p, errorColumn(err, line), fmt.Errorf("%w; each line must be one JSON object with \"prompt\", \"text\" or \"messages\"", err)
	}
	start := 1 + bytes.IndexByte(line, '{')
	var given []string
	for _, text := range []string{object.Prompt, object.Text} {
		if text != "" {
			given = append(given, text)
		}
	}
	if len(object.Messages) > 0 {
		if len(object.Messages) != 1 || object.Messages[0].Role != "user" || object.Messages[0].Content == "" {
			return p, start, errors.New("\"messages\" must hold exactly one message, with role \"user\" and content; system prompts and longer conversations are not supported yet")
		}
		given = append(given, object.Messages[0].Content)
	}
	switch len(given) {
	case 0:
		return p, start, errors.New("no prompt: give one of \"prompt\", \"text\" or \"messages\", not empty")
	case 1:
		return newPrompt(object.ID, object.Category, given[0]), start, nil
	}
	return p, start, errors.New("more than one of \"prompt\", \"text\" and \"messages\"; keep one")
}

func newPrompt(id, category, text string) Prompt {
	if id == "" {
		sum := sha256.Sum256([]byte(text))
		id = "u-" + hex.EncodeToString(sum[:6])
	}
	if category == "" {
		category = FileCategory
	}
	return Prompt{ID: id, Category: category, Text: text}
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
