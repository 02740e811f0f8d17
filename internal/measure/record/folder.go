package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"treeline/internal/host"
)

// FolderSchema names the form of a run folder, docs/format/record.md.
const FolderSchema = "treeline.record/1"

// The names inside a run folder and inside the folder of one start.
const (
	HostFile     = "host.json"
	BaselineFile = "baseline.json"
	StartsFolder = "starts"

	IdentityFile      = "identity.json"
	MetricsBeforeFile = "metrics_before.txt"
	MetricsAfterFile  = "metrics_after.txt"
	RequestsFile      = "requests.jsonl"
	StreamsFolder     = "streams"
)

// Host is the content of host.json: the form of the folder and the machine that it was written on.
type Host struct {
	Schema      string           `json:"schema"`
	Fingerprint host.Fingerprint `json:"fingerprint"`
}

// CreateFolder makes the run folder dir if needed and writes host.json. A folder that holds a record of another form
// is refused.
func CreateFolder(dir string, machine host.Fingerprint) error {
	if err := os.MkdirAll(filepath.Join(dir, StartsFolder), 0o755); err != nil {
		return fmt.Errorf("create run folder: %w", err)
	}
	path := filepath.Join(dir, HostFile)
	var old Host
	if err := readJSON(path, &old); err == nil && old.Schema != FolderSchema {
		return fmt.Errorf("run folder %s holds %q, this version writes %q: choose another folder", dir, old.Schema, FolderSchema)
	}
	return writeJSON(path, Host{Schema: FolderSchema, Fingerprint: machine})
}

// StartFolder is the folder of start number order of an arm inside a run folder.
func StartFolder(dir string, order int, arm string) string {
	name := fmt.Sprintf("%03d", order)
	if arm != "" {
		name += "-" + strings.Map(safe, arm)
	}
	return filepath.Join(dir, StartsFolder, name)
}

func safe(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
		return r
	}
	return '_'
}

// Writer writes the folder of one start. Every finished request is handed to the kernel before Request returns, so
// that it survives the death of this process. Not safe for concurrent use.
type Writer struct {
	dir      string
	requests *os.File
}

// CreateStart makes the folder of one start. An existing requests.jsonl is refused: a start is measured once.
func CreateStart(dir string, order int, arm string) (*Writer, error) {
	folder := StartFolder(dir, order, arm)
	if err := os.MkdirAll(filepath.Join(folder, StreamsFolder), 0o755); err != nil {
		return nil, fmt.Errorf("create start folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(folder, RequestsFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("start folder %s already holds requests: choose another --out folder", folder)
	}
	if err != nil {
		return nil, fmt.Errorf("create start folder: %w", err)
	}
	return &Writer{dir: folder, requests: f}, nil
}

// Dir is the folder being written.
func (w *Writer) Dir() string { return w.dir }

// Request writes the stream first and the line of requests.jsonl after it, in one write: a line that is there is
// whole and has its stream.
func (w *Writer) Request(r *Request, s *Stream) error {
	if s != nil {
		base := streamPath(w.dir, r.ID)
		if err := os.WriteFile(base+".body", s.Body, 0o644); err != nil {
			return fmt.Errorf("write stream: %w", err)
		}
		if err := writeJSON(base+".json", s); err != nil {
			return err
		}
	}
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write request %d: %w", r.ID, err)
	}
	if _, err := w.requests.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write request %d: %w", r.ID, err)
	}
	return nil
}

// File writes a file of the start, such as a scrape.
func (w *Writer) File(name string, b []byte) error {
	if err := os.WriteFile(filepath.Join(w.dir, name), b, 0o644); err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	return nil
}

// JSON writes a file of the start as JSON.
func (w *Writer) JSON(name string, v any) error { return writeJSON(filepath.Join(w.dir, name), v) }

// Close ends the writing.
func (w *Writer) Close() error { return w.requests.Close() }

func streamPath(dir string, id int) string {
	return filepath.Join(dir, StreamsFolder, fmt.Sprintf("%06d", id))
}

// writeJSON replaces a file as a whole: readers see the old or the new content, never half of one.
func writeJSON(path string, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	return nil
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
