package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// tape is a file that only grows, by whole entries.
type tape struct {
	file *os.File
	size int64
}

func newTape(path string) (*tape, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("start folder %s already holds requests: choose another --out folder", filepath.Dir(path))
	}
	if err != nil {
		return nil, fmt.Errorf("create start folder: %w", err)
	}
	return &tape{file: f}, nil
}

// write appends an entry, or leaves the file as it was.
func (t *tape) write(b []byte) error {
	if _, err := t.file.Write(b); err != nil {
		undo := t.file.Truncate(t.size)
		return errors.Join(fmt.Errorf("write record: %w; make room, or give an --out folder on another disk", err), undo)
	}
	t.size += int64(len(b))
	return nil
}

// frame is the head of an entry of streams.raw, one line of JSON; the bytes of its reads follow, and a line end. Stream
// is the header of an answer when it begins, and header and end when it is over.
type frame struct {
	ID     int     `json:"id"`
	Reads  []Read  `json:"reads,omitempty"`
	Stream *Stream `json:"stream,omitempty"`
}

func (w *Writer) frame(f frame, b []byte) error {
	head, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("write stream of request %d: %w", f.ID, err)
	}
	w.buf = append(append(w.buf[:0], head...), '\n')
	w.buf = append(append(w.buf, b...), '\n')
	return w.streams.write(w.buf)
}

// maxHead is the longest head of a frame that is read.
const maxHead = 64 << 20

// readFrames calls take for every whole frame of a streams.raw in order, with bytes that are valid until it returns. A
// frame that the end of the file cuts off was being written when the process died, and is left out; any other fault is
// an error that names its place.
func readFrames(path string, take func(frame, []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read streams: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read streams: %w", err)
	}
	r, at := bufio.NewReaderSize(file, 256<<10), int64(0)
	var body []byte
	for {
		line, err := readLine(r)
		if errors.Is(err, io.EOF) {
			return nil // the end, or a head without its end
		}
		if err != nil {
			return fmt.Errorf("read streams: %s: offset %d: %w", path, at, err)
		}
		var f frame
		if err := json.Unmarshal(line, &f); err != nil {
			return fmt.Errorf("read streams: %s: offset %d: %w", path, at, err)
		}
		begin := at + int64(len(line))
		n := int64(0)
		for _, read := range f.Reads {
			if read.N < 0 {
				return fmt.Errorf("read streams: %s: offset %d: a read of %d bytes", path, at, read.N)
			}
			if int64(read.N) > info.Size() {
				return nil // cut off, and no sum of what remains overflows
			}
			n += int64(read.N)
		}
		if begin+n+1 > info.Size() {
			return nil // the bytes were cut off
		}
		if int64(cap(body)) < n+1 {
			body = make([]byte, n+1)
		}
		body = body[:n+1]
		if _, err := io.ReadFull(r, body); err != nil {
			return fmt.Errorf("read streams: %s: offset %d: %w", path, begin, err)
		}
		if body[n] != '\n' {
			return fmt.Errorf("read streams: %s: offset %d: the bytes of request %d do not end where its reads say", path, begin+n, f.ID)
		}
		if err := take(f, body[:n]); err != nil {
			return fmt.Errorf("read streams: %s: offset %d: %w", path, at, err)
		}
		at = begin + n + 1
	}
}

// readLine reads to the next LF, which is part of the line.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if err == nil && line == nil {
			return part, nil
		}
		line = append(line, part...)
		if err == nil || !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxHead {
			return nil, fmt.Errorf("a head of more than %d bytes", maxHead)
		}
	}
}
