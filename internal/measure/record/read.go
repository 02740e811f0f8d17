package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// StartFolders lists the folders of the starts in a run folder, in order.
func StartFolders(dir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, StartsFolder))
	if err != nil {
		return nil, fmt.Errorf("read run folder: %w", err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, filepath.Join(dir, StartsFolder, e.Name()))
		}
	}
	slices.Sort(out)
	return out, nil
}

// NextOrder is the number of the start that comes next in a run folder, after those that were killed or invalid, too.
func NextOrder(dir string) (int, error) {
	folders, err := StartFolders(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 1, nil
	}
	last := 0
	for _, f := range folders {
		digits, _, _ := strings.Cut(filepath.Base(f), "-")
		if n, err := strconv.Atoi(digits); err == nil {
			last = max(last, n)
		}
	}
	return last + 1, err
}

// ReadRequests reads requests.jsonl of a start's folder. A last line without its line end was cut off when the process
// died and is left out; any other broken line is an error that names it.
func ReadRequests(folder string) ([]Request, error) {
	path := filepath.Join(folder, RequestsFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read requests: %w", err)
	}
	var out []Request
	for n := 1; ; n++ {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		if !whole {
			return out, nil
		}
		b = rest
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return out, fmt.Errorf("read requests: %s:%d: %w", path, n, err)
		}
		out = append(out, r)
	}
}

// Recompute reads a start's requests and computes everything the answers decide anew from the raw streams, by the code
// that computed it when they came. Without a whole stream (streams can be removed to leave model output out, and a power
// cut can take their end) a request keeps what its line says and is marked FromLine. A stream without a line belongs to
// a request that was under way when the process died.
func Recompute(folder string) ([]Request, error) {
	requests, err := ReadRequests(folder)
	if err != nil {
		return nil, err
	}
	lines := slices.Clone(requests)
	open := map[int]*Filler{}
	index := map[int]int{}
	for i := range requests {
		index[requests[i].ID] = i
	}
	path := filepath.Join(folder, StreamsFile)
	err = readFrames(path, func(f frame, b []byte) error {
		i, known := index[f.ID]
		if !known {
			return nil
		}
		fill := open[f.ID]
		if fill == nil {
			if f.Stream == nil {
				return fmt.Errorf("a part of request %d before its header", f.ID)
			}
			fill = NewFiller(&requests[i], f.Stream)
			open[f.ID] = fill
		}
		switch {
		case len(f.Reads) > 0:
			fill.Feed(Piece{Reads: f.Reads, Bytes: b})
		case f.Stream != nil && f.Stream.End != "":
			fill.ended(f.Stream)
			delete(open, f.ID)
			delete(index, f.ID)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, i := range index {
		requests[i] = lines[i] // what a part of a stream says is not what was measured
		requests[i].FromLine = true
	}
	return requests, err
}

// ended takes over how a stream ended, and judges it.
func (f *Filler) ended(s *Stream) {
	f.stream.End, f.stream.EndAt, f.stream.Error, f.stream.Class = s.End, s.EndAt, s.Error, s.Class
	f.End()
}

// ReadBench reads a treeline.bench/1 object from a file, or from baseline.json of a folder.
func ReadBench(path string) (*Bench, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, BaselineFile)
	}
	var b Bench
	if err := readJSON(path, &b); err != nil {
		return nil, fmt.Errorf("read baseline: %w", err)
	}
	if b.Schema != BenchSchema {
		return nil, fmt.Errorf("read baseline %s: schema is %q, not %q: give a file that bench --out or --append wrote", path, b.Schema, BenchSchema)
	}
	return &b, nil
}

// WriteBench writes a treeline.bench/1 object to a file, or to baseline.json of a folder.
func WriteBench(path string, b *Bench) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, BaselineFile)
	}
	return writeJSON(path, b)
}

// Append adds the starts of next to those of old, numbering them on where their numbers do not follow already. Figures and target stay those of the newest
// start; the request counts are its own too, because starts are never pooled.
func Append(old, next *Bench) *Bench {
	out := *next
	out.Starts = slices.Clone(old.Starts)
	order := 0
	for _, s := range old.Starts {
		order = max(order, s.Order)
	}
	for _, s := range next.Starts {
		order = max(order+1, s.Order)
		s.Order = order
		out.Starts = append(out.Starts, s)
	}
	return &out
}
