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
)

// textMembers are the members of JSON objects, at any depth, that may hold prompts or model output, or quote them.
func textMembers() []string {
	return []string{"text", "reasoning", "others", "tools", "error", "diverged_on"}
}

// CopyWithoutText copies a run folder to a new one without anything that holds a prompt or what a model wrote: raw
// streams and server logs are left out, and JSON loses its members of text. The texts of warnings stay. Figures can be
// shown from the copy, and no longer be recomputed.
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
		case !d.Type().IsRegular() || d.Name() == StreamsFile || filepath.Ext(path) == ".log":
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

func stripped(v any, parent string) any {
	switch v := v.(type) {
	case map[string]any:
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
