package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"treeline/internal/host"
)

// FolderSchema names the form of a run folder, docs/format/record.md.
const FolderSchema = "treeline.record/2"

// The names inside a run folder and inside the folder of one start.
const (
	HostFile     = "host.json"
	BaselineFile = "baseline.json"
	StartsFolder = "starts"

	IdentityFile      = "identity.json"
	MetricsBeforeFile = "metrics_before.txt"
	MetricsAfterFile  = "metrics_after.txt"
	RequestsFile      = "requests.jsonl"
	StreamsFile       = "streams.raw"
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
	if err := CheckFolder(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; choose another folder", err)
	}
	return writeJSON(filepath.Join(dir, HostFile), Host{Schema: FolderSchema, Fingerprint: machine})
}

// CheckFolder reports whether dir is a run folder of the form that this version reads and writes.
func CheckFolder(dir string) error {
	var h Host
	if err := readJSON(filepath.Join(dir, HostFile), &h); err != nil {
		return fmt.Errorf("%w; is it a run folder?", err)
	}
	if h.Schema != FolderSchema {
		return fmt.Errorf("run folder %s holds %q, this version reads and writes %q", dir, h.Schema, FolderSchema)
	}
	return nil
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
// that it survives the death of this process. What could not be written as a whole is taken back, so that a full disk
// leaves a folder that reads. Not safe for concurrent use.
type Writer struct {
	dir      string
	requests *tape
	streams  *tape
	buf      []byte
}

// CreateStart makes the folder of one start. An existing requests.jsonl is refused: a start is measured once.
func CreateStart(dir string, order int, arm string) (*Writer, error) {
	folder := StartFolder(dir, order, arm)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("create start folder: %w", err)
	}
	w := &Writer{dir: folder}
	var err error
	if w.requests, err = newTape(filepath.Join(folder, RequestsFile)); err != nil {
		return nil, err
	}
	w.streams, err = newTape(filepath.Join(folder, StreamsFile))
	return w, err
}

// Dir is the folder being written.
func (w *Writer) Dir() string { return w.dir }

// Begin keeps the header of the answer to request id.
func (w *Writer) Begin(id int, s *Stream) error { return w.frame(frame{ID: id, Stream: s.head()}, nil) }

// Piece keeps the next part of the answer to request id.
func (w *Writer) Piece(id int, p Piece) error { return w.frame(frame{ID: id, Reads: p.Reads}, p.Bytes) }

// Request keeps a finished request whose stream was kept piece by piece: the end of the stream first and the line of
// requests.jsonl after it, in one write each. A line that is there is whole and has its stream.
func (w *Writer) Request(r *Request, s *Stream) error {
	if err := w.frame(frame{ID: r.ID, Stream: s}, nil); err != nil {
		return err
	}
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write request %d: %w", r.ID, err)
	}
	return w.requests.write(append(line, '\n'))
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
func (w *Writer) Close() error { return errors.Join(w.requests.file.Close(), w.streams.file.Close()) }

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
		os.Remove(tmp) // half a file, on a full disk
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
