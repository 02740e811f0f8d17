// Package sse reads and writes server-sent events. The reader is made for measuring: every event carries the moment
// at which the read that completed it returned, and the number of that read, so that events which arrived in one lump
// stay recognisable.
//
// It knows the framing of the WHATWG specification (section 9.2) and nothing of what the data means. It does not
// reconnect: a stream that breaks is a result, not a fault to be hidden.
package sse

import (
	"bytes"
	"errors"
	"fmt"
)

// MaxEvent is the largest event, in bytes of payload, that a Parser accepts.
const MaxEvent = 16 << 20

// ErrTooLong says that one event exceeded MaxEvent.
var ErrTooLong = errors.New("server-sent event longer than 16 MiB")

// Event is one dispatched event.
type Event struct {
	Name  string // value of the last "event" field, "" when there was none
	ID    string // value of this event's "id" field
	Data  []byte // "data" lines joined by LF; valid until the caller drops it, never reused
	Began int64  // stamp of the read that brought its first byte
	At    int64  // stamp of the read that completed it
	Read  int    // number of that read, as given to Feed
	Size  int    // bytes on the wire, the closing empty line included
	// Truncated is set on an event that the end of the stream cut off: its closing empty line never came.
	Truncated bool
}

// Parser turns bytes into events. It is a state machine over single bytes, so any division of a stream into pieces
// gives the same events; only LF, CR and CRLF end a line. The zero Parser is ready.
type Parser struct {
	line     []byte // bytes of the unfinished line
	data     []byte
	name, id string
	hasData  bool
	size     int   // bytes of the unfinished event
	began    int64 // stamp of its first byte
	skipLF   bool  // the last byte was a CR: an LF directly after it belongs to it
	started  bool  // a byte-order mark can no longer come
	bom      int   // bytes of a leading byte-order mark seen so far
	comments int
	at       int64
	read     int
	err      error
}

// Comments is the number of comment lines so far. Servers send them to keep a connection alive.
func (p *Parser) Comments() int { return p.comments }

// Feed parses b, which read number read brought at moment at, and calls emit for every event that b completes.
// After an error the parser is spent.
func (p *Parser) Feed(b []byte, at int64, read int, emit func(Event)) error {
	if p.err != nil {
		return p.err
	}
	p.at, p.read = at, read
	if !p.started {
		b = p.skipBOM(b)
	}
	for len(b) > 0 {
		if p.skipLF {
			p.skipLF = false
			if b[0] == '\n' {
				b = b[1:]
				continue
			}
		}
		if p.size == 0 {
			p.began = at
		}
		end := bytes.IndexAny(b, "\r\n")
		if end < 0 {
			p.size += len(b)
			return p.grow(b)
		}
		p.size += end + 1
		if err := p.grow(b[:end]); err != nil {
			return err
		}
		p.skipLF = b[end] == '\r'
		b = b[end+1:]
		if err := p.endLine(emit); err != nil {
			return err
		}
	}
	return nil
}

// Close tells that the stream is over. What was not closed by an empty line comes as one truncated event.
func (p *Parser) Close(emit func(Event)) {
	if p.err != nil {
		return
	}
	p.started = true
	rest := len(p.line) > 0 && p.line[0] != ':'
	if len(p.line) > 0 {
		p.field()
	}
	if p.hasData || rest {
		p.dispatch(emit, true)
	}
}

// skipBOM drops a byte-order mark at the very start, even when reads cut it in pieces.
func (p *Parser) skipBOM(b []byte) []byte {
	const mark = "\xef\xbb\xbf"
	for len(b) > 0 && p.bom < len(mark) && b[0] == mark[p.bom] {
		p.bom++
		b = b[1:]
	}
	switch {
	case p.bom == len(mark):
		p.started = true
	case len(b) > 0: // not a mark after all: the bytes eaten belong to the first line
		p.started = true
		p.line = append(p.line, mark[:p.bom]...)
		p.size, p.began = p.bom, p.at
	}
	return b
}

func (p *Parser) grow(b []byte) error {
	if len(p.line)+len(p.data)+len(b) > MaxEvent {
		p.err = ErrTooLong
		return p.err
	}
	p.line = append(p.line, b...)
	return nil
}

func (p *Parser) endLine(emit func(Event)) error {
	if len(p.line) > 0 {
		p.field()
		return nil
	}
	if p.hasData {
		p.dispatch(emit, false)
		return nil
	}
	// An empty line without data dispatches nothing and forgets the event's name.
	p.name, p.id, p.size = "", "", 0
	return nil
}

func (p *Parser) field() {
	line := p.line
	p.line = p.line[:0]
	if line[0] == ':' {
		p.comments++
		if !p.hasData {
			p.size = 0
		}
		return
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if p.hasData {
			p.data = append(p.data, '\n')
		}
		p.data = append(p.data, value...)
		p.hasData = true
	case "event":
		p.name = string(value)
	case "id":
		p.id = string(value)
	}
}

func (p *Parser) dispatch(emit func(Event), truncated bool) {
	emit(Event{
		Name: p.name, ID: p.id, Data: bytes.Clone(p.data), Began: p.began,
		At: p.at, Read: p.read, Size: p.size, Truncated: truncated,
	})
	p.data = p.data[:0]
	p.name, p.id, p.hasData, p.size = "", "", false, 0
}

// String describes an event for error messages.
func (e Event) String() string {
	const most = 200
	data := e.Data
	if len(data) > most {
		data = append(bytes.Clone(data[:most]), "..."...)
	}
	return fmt.Sprintf("event %q in read %d: %s", e.Name, e.Read, data)
}
