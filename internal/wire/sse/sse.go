// Package sse reads and writes server-sent events. The parser is made for measuring: every event carries the stamp of
// the read that brought its first byte, the stamp and number of the read that completed it, so that events which
// arrived in one lump stay recognisable.
//
// It knows the framing of the WHATWG specification (section 9.2) and nothing of what the data means. It does not read
// from a connection and does not reconnect: a stream that breaks is a result, not a fault to be hidden.
package sse

import (
	"bytes"
	"errors"
	"fmt"
)

// MaxEvent is the largest event, in bytes of payload, that a Parser accepts.
const MaxEvent = 16 << 20

// keepBuffer is the largest buffer that is kept for the next event.
const keepBuffer = 64 << 10

// ErrTooLong says that one event exceeded MaxEvent.
var ErrTooLong = errors.New("server-sent event longer than 16 MiB")

// Event is one dispatched event.
type Event struct {
	Name  string // value of the last "event" field, "" when there was none
	ID    string // value of this event's "id" field
	Data  []byte // "data" lines joined by LF; valid until emit returns
	Began int64  // stamp of the read that brought its first byte
	At    int64  // stamp of the read that completed it
	Read  int    // number of that read, as given to Feed
	Size  int    // bytes on the wire, the closing empty line included; a line end counts as one byte
	// Truncated is set on an event that the end of the stream cut off: its closing empty line never came.
	Truncated bool
}

// Parser turns bytes into events. It is a state machine over single bytes, so any division of a stream into pieces
// gives the same events; only LF, CR and CRLF end a line. An event whose lines each came in one read costs no
// allocation and no copy. The zero Parser is ready.
type Parser struct {
	line    []byte // bytes of the unfinished line that earlier reads brought
	skip    bool   // the rest of the unfinished line means nothing: a comment or an unknown field
	inLine  bool   // the unfinished line has bytes, kept or not
	skipLF  bool   // the last byte was a CR: an LF directly after it belongs to it
	started bool   // a byte-order mark can no longer come
	bom     int    // bytes of a leading byte-order mark seen so far

	data     []byte // "data" so far; a view of the read's bytes while viewed
	buffer   []byte // what data is copied to when it must outlive a read or grow
	viewed   bool
	hasData  bool
	name, id []byte
	began    int64 // stamp of the unfinished event's first byte
	size     int   // bytes of the unfinished event
	fields   int   // lines of the unfinished event that are no comment

	lastName, lastID string // handed out before: streams repeat them
	comments         int
	at               int64
	read             int
	err              error
}

// Comments is the number of comment lines so far. Servers send them to keep a connection alive.
func (p *Parser) Comments() int { return p.comments }

// Feed parses b, which read number read brought at moment at, and calls emit for every event that b completes. Neither
// b nor an event's data is kept. After an error the parser is spent.
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
		end := lineEnd(b)
		if end < 0 {
			p.size += len(b)
			p.unfinished(b)
			break
		}
		p.size += end + 1
		p.skipLF = b[end] == '\r'
		p.endLine(b[:end], emit)
		b = b[end+1:]
		if p.err != nil {
			return p.err
		}
	}
	p.settle()
	return p.err
}

// Close tells that the stream is over. What was not closed by an empty line comes as one truncated event.
func (p *Parser) Close(emit func(Event)) {
	if p.err != nil {
		return
	}
	if !p.started {
		p.notMark()
	}
	rest := p.inLine && !p.skip
	if rest {
		p.field(p.line)
	}
	if p.hasData || rest {
		p.dispatch(emit, true)
	}
}

// lineEnd is the index of the first LF or CR, -1 for none. Lines are long and CR is rare, so two searches by the
// machine's wide instructions beat one by byte.
func lineEnd(b []byte) int {
	end := bytes.IndexByte(b, '\n')
	if end >= 0 {
		b = b[:end]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return end
}

const mark = "\xef\xbb\xbf" // U+FEFF

// skipBOM drops a byte-order mark at the very start, even when reads cut it in pieces.
func (p *Parser) skipBOM(b []byte) []byte {
	for len(b) > 0 && p.bom < len(mark) && b[0] == mark[p.bom] {
		if p.bom == 0 {
			p.began = p.at
		}
		p.bom++
		b = b[1:]
	}
	switch {
	case p.bom == len(mark):
		p.started = true
	case len(b) > 0: // not a mark after all: the bytes eaten belong to the first line
		p.notMark()
	}
	return b
}

// notMark gives the beginning of what turned out to be no byte-order mark to the first line.
func (p *Parser) notMark() {
	p.started = true
	if p.bom > 0 {
		p.size = p.bom
		p.unfinished([]byte(mark[:p.bom]))
	}
}

// unfinished keeps the beginning of a line that the next read goes on with, unless nothing will come of it.
func (p *Parser) unfinished(b []byte) {
	p.inLine = true
	const longestPrefix = len("event: ")
	if p.skip || !p.fits(len(p.line)+len(b)-longestPrefix) {
		return
	}
	p.line = append(p.line, b...)
	const longestName = len("event")
	name, _, whole := bytes.Cut(p.line, []byte(":"))
	switch {
	case p.line[0] == ':':
		p.comments++
		p.skip = true
	case whole && fieldOf(name) == other, !whole && len(p.line) > longestName:
		p.fields++
		p.skip = true
	}
	if p.skip {
		p.line = p.line[:0]
	}
}

// fits reports whether n bytes may be kept.
func (p *Parser) fits(n int) bool {
	if n > MaxEvent {
		p.err = ErrTooLong
	}
	return p.err == nil
}

// endLine takes the rest of a line, without its end.
func (p *Parser) endLine(rest []byte, emit func(Event)) {
	line := rest
	if p.inLine {
		if p.skip {
			p.inLine, p.skip = false, false
			p.forgetComment()
			return
		}
		p.line = append(p.line, rest...)
		line = p.line
	}
	switch {
	case len(line) > 0:
		p.field(line)
		if p.inLine { // what field kept may be a view of p.line, which is used again
			p.settle()
			p.line, p.inLine = shrunk(p.line), false
		}
	case p.hasData:
		p.dispatch(emit, false)
	default: // an empty line without data dispatches nothing and forgets the event's name
		p.reset()
	}
}

// forgetComment lets an event begin after the comments before it.
func (p *Parser) forgetComment() {
	if p.fields == 0 {
		p.size = 0
	}
}

type field uint8

const (
	other field = iota
	dataField
	eventField
	idField
)

func fieldOf(name []byte) field {
	switch string(name) {
	case "data":
		return dataField
	case "event":
		return eventField
	case "id":
		return idField
	}
	return other
}

func (p *Parser) field(line []byte) {
	if line[0] == ':' {
		p.comments++
		p.forgetComment()
		return
	}
	p.fields++
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	kind := fieldOf(name)
	if kind == other || !p.fits(len(p.data)+len(value)) {
		return
	}
	switch kind {
	case dataField:
		p.addData(value)
	case eventField:
		p.name = append(p.name[:0], value...)
	case idField:
		p.id = append(p.id[:0], value...)
	}
}

// addData takes the value of a "data" line: the first one as a view, as long as the read lasts.
func (p *Parser) addData(value []byte) {
	if !p.hasData {
		p.hasData, p.viewed, p.data = true, true, value
		return
	}
	p.settle()
	p.data = append(append(p.data, '\n'), value...)
	p.buffer = p.data
}

// settle copies what is only a view of the bytes of this read.
func (p *Parser) settle() {
	if p.viewed {
		p.buffer = append(p.buffer[:0], p.data...)
		p.data, p.viewed = p.buffer, false
	}
}

func (p *Parser) dispatch(emit func(Event), truncated bool) {
	emit(Event{
		Name: intern(&p.lastName, p.name), ID: intern(&p.lastID, p.id), Data: p.data, Began: p.began,
		At: p.at, Read: p.read, Size: p.size, Truncated: truncated,
	})
	p.reset()
}

// reset forgets the unfinished event.
func (p *Parser) reset() {
	p.buffer = shrunk(p.buffer)
	p.data, p.viewed, p.hasData = nil, false, false
	p.name, p.id, p.size, p.fields = shrunk(p.name), shrunk(p.id), 0, 0
}

// shrunk empties a buffer for reuse and lets a large one go.
func shrunk(b []byte) []byte {
	if cap(b) > keepBuffer {
		return nil
	}
	return b[:0]
}

// intern makes a string of b, the last one again when it is the same. A large one is not remembered.
func intern(last *string, b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > keepBuffer {
		return string(b)
	}
	if *last != string(b) {
		*last = string(b)
	}
	return *last
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
