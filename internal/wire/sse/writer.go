package sse

import (
	"bytes"
	"io"
)

// Write frames data as one event on w in a single call to Write. An empty name leaves the "event" field out. Line ends
// inside data become separate "data" lines, so that a reader gets them back as LF.
func Write(w io.Writer, name string, data []byte) error {
	var b bytes.Buffer
	b.Grow(len(data) + len(name) + 16)
	if name != "" {
		b.WriteString("event: ")
		b.WriteString(name)
		b.WriteByte('\n')
	}
	for {
		line, rest, more := cutLine(data)
		b.WriteString("data: ")
		b.Write(line)
		b.WriteByte('\n')
		if !more {
			break
		}
		data = rest
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// cutLine splits at the first LF, CR or CRLF.
func cutLine(b []byte) (line, rest []byte, more bool) {
	i := bytes.IndexAny(b, "\r\n")
	if i < 0 {
		return b, nil, false
	}
	rest = b[i+1:]
	if b[i] == '\r' && len(rest) > 0 && rest[0] == '\n' {
		rest = rest[1:]
	}
	return b[:i], rest, true
}
