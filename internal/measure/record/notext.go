package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// textMembers are the members of JSON objects, at any depth, that may hold prompts or model output, or quote them.
func textMembers() []string {
	return []string{"text", "reasoning", "others", "tools", "error", "diverged_on"}
}

// kept reports whether a file of a run folder goes into a copy without text. Raw streams, logs and pages do not, nor
// does anything that the run did not write.
func kept(name string) bool {
	switch filepath.Ext(name) {
	case ".json", ".jsonl":
		return true // stripped
	case ".yaml":
		return strings.HasPrefix(name, "plan.")
	case ".txt":
		return name == MetricsBeforeFile || name == MetricsAfterFile
	}
	return false
}

// CopyWithoutText copies a run folder to a new one without anything that holds a prompt or what a model wrote: only
// files that the figures need, and JSON without its members of text. The texts of warnings stay, but for what they quote
// of answers. Figures can be shown from the copy, as a page too, and no longer be recomputed.
func CopyWithoutText(from, to string) error {
	if info, err := os.Stat(from); err != nil || !info.IsDir() {
		return fmt.Errorf("copy run without text: %s is no run folder", from)
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return fmt.Errorf("copy run without text: %w; give a folder that is not there yet", err)
	}
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		dest := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(dest, 0o755)
		case !d.Type().IsRegular() || !kept(d.Name()):
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("copy run without text: %w", err)
		}
		switch filepath.Ext(path) {
		case ".json", ".jsonl":
			if b, err = withoutText(b); err != nil {
				return fmt.Errorf("copy run without text: %s: %w", path, err)
			}
		}
		if err := os.WriteFile(dest, b, 0o644); err != nil {
			return fmt.Errorf("copy run without text: %w", err)
		}
		return nil
	})
}

// withoutText strips a sequence of JSON values. What the end cuts off is left out.
func withoutText(b []byte) ([]byte, error) {
	var out bytes.Buffer
	dec := json.NewDecoder(bufio.NewReader(bytes.NewReader(b)))
	dec.UseNumber() // figures keep their digits
	for {
		var v any
		err := dec.Decode(&v)
		var syntax *json.SyntaxError
		switch {
		case err != nil && !errors.As(err, &syntax):
			return out.Bytes(), nil // the end, or a line cut off
		case err != nil:
			return nil, err
		}
		line, err := json.Marshal(stripped(v, ""))
		if err != nil {
			return nil, err
		}
		out.Write(append(line, '\n'))
	}
}

// QuotesFollow stands in the text of a warning before what it quotes of answers.
const QuotesFollow = " First of each kind: "

func stripped(v any, parent string) any {
	switch v := v.(type) {
	case map[string]any:
		if text, ok := v["text"].(string); ok && parent == "warnings" {
			v["text"], _, _ = strings.Cut(text, QuotesFollow)
		}
		for k, inner := range v {
			if parent != "warnings" && slices.Contains(textMembers(), k) {
				delete(v, k)
				continue
			}
			v[k] = stripped(inner, k)
		}
	case []any:
		for i := range v {
			v[i] = stripped(v[i], parent)
		}
	}
	return v
}
