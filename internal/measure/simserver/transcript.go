package simserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Transcript is what a server writes to a connection once it has read a request: raw bytes at given times.
type Transcript struct {
	Pieces []Piece
	End    string        // close, reset, or hold: leave the connection open
	Hold   time.Duration // how long, for hold
}

// Piece is one write, At after the request was read.
type Piece struct {
	At    time.Duration
	Bytes []byte
}

// The ways to play a transcript. What a client makes of the bytes must not depend on them.
const (
	AsWritten = "1x"    // at its times
	AtOnce    = "0x"    // without any wait
	ByteWise  = "bytes" // without any wait, one byte a write; the middle of huge pieces in steps of an odd length
)

// ParseTranscript reads the text form of a transcript; name stands for it in errors. Each line is one write:
//
//	# a comment
//	head "HTTP/1.1 200 OK\r\n..."      the response's head, instead of the usual one of a stream
//	chunked                            frame every write as a chunk of the body
//	@100 C("The") C(" end")            what to write, 100 ms after the request was read
//	@190 FIN(stop) U(9,10) DONE
//	end reset                          close (the usual end), reset, or hold MS
//
// The pieces of a line are Go strings in quotes, written as they are, and shorthands for events: C("x") and R("x") an
// event with content or reasoning_content, T("x") the same of the plain completions endpoint, ROLE the role alone,
// FIN(reason), U(prompt,completion) a last usage chunk, J(json) an event with this JSON, D(text) one with this data,
// DONE, and PING, a comment.
func ParseTranscript(name, text string) (Transcript, error) {
	t := Transcript{End: "close"}
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
	chunked, at := false, time.Duration(0)
	for i, line := range strings.Split(text, "\n") {
		p := &lineParser{rest: strings.TrimSpace(line)}
		p.from = strings.Index(line, p.rest)
		word := p.word()
		switch {
		case p.err == nil && (word == "" || word[0] == '#'):
			continue
		case word == "head":
			head = p.quoted()
		case word == "chunked":
			chunked = true
			head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
		case word == "end":
			t.End = p.word()
			switch t.End {
			case "close", "reset":
			case "hold":
				t.Hold = p.milliseconds(p.word())
			default:
				p.fail("end is close, reset or hold MS")
			}
		case word[0] == '@':
			next := p.milliseconds(word[1:])
			if next < at {
				p.fail("times go backwards")
			}
			at = next
			b := p.pieces()
			if chunked {
				b = fmt.Sprintf("%x\r\n%s\r\n", len(b), b)
			}
			t.Pieces = append(t.Pieces, Piece{at, []byte(b)})
		default:
			p.fail("a line begins with head, chunked, @MS, end or #")
		}
		if p.err != nil {
			return t, fmt.Errorf("%s:%d:%d: %w", name, i+1, p.from+p.at+1, p.err)
		}
	}
	if chunked && t.End == "close" {
		t.Pieces = append(t.Pieces, Piece{at, []byte("0\r\n\r\n")})
	}
	t.Pieces = append([]Piece{{0, []byte(head)}}, t.Pieces...)
	return t, nil
}

// lineParser reads the words of one line. at is the offset of the word in hand.
type lineParser struct {
	rest string
	from int // of the line's first word
	at   int
	used int
	err  error
}

func (p *lineParser) fail(text string) {
	if p.err == nil {
		p.err = fmt.Errorf("%s", text)
	}
}

func (p *lineParser) take(n int) string {
	s, rest := p.rest[:n], strings.TrimLeft(p.rest[n:], " \t")
	p.at = p.used
	p.used += len(p.rest) - len(rest)
	p.rest = rest
	return s
}

func (p *lineParser) word() string {
	n := strings.IndexAny(p.rest, " \t")
	if n < 0 {
		n = len(p.rest)
	}
	return p.take(n)
}

// longest is the latest time in a transcript, in milliseconds: a week.
const longest = 7 * 24 * 3600e3

func (p *lineParser) milliseconds(s string) time.Duration {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0 && v <= longest) {
		p.fail(fmt.Sprintf("%q is no time in milliseconds, 0 to %.0f", s, longest))
		return 0
	}
	return time.Duration(v * float64(time.Millisecond))
}

func (p *lineParser) quoted() string {
	quoted, err := strconv.QuotedPrefix(p.rest)
	if err != nil {
		p.fail("a string in quotes is wanted here")
		return ""
	}
	s, err := strconv.Unquote(p.take(len(quoted)))
	if err != nil {
		p.fail("not a string in quotes: " + err.Error())
	}
	return s
}

// pieces reads strings and shorthands to the end of the line.
func (p *lineParser) pieces() string {
	var b strings.Builder
	for p.err == nil && p.rest != "" {
		p.at = p.used
		if strings.ContainsRune("\"`", rune(p.rest[0])) {
			b.WriteString(p.quoted())
			continue
		}
		n := strings.IndexAny(p.rest, "( \t")
		if n < 0 || p.rest[n] != '(' {
			b.WriteString(p.plain(p.word()))
			continue
		}
		name := p.rest[:n]
		end := closing(p.rest[n:])
		if end < 0 {
			p.fail("a ) is missing")
			break
		}
		argument := p.rest[n+1 : n+end]
		p.take(n + end + 1)
		b.WriteString(p.shorthand(name, argument))
	}
	return b.String()
}

// closing is the index of the parenthesis that closes the one s begins with, strings left aside; -1 when there is none.
func closing(s string) int {
	depth, in := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case in && s[i] == '\\':
			i++
		case s[i] == '"':
			in = !in
		case in:
		case s[i] == '(':
			depth++
		case s[i] == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func (p *lineParser) plain(word string) string {
	switch word {
	case "ROLE":
		return "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
	case "DONE":
		return "data: [DONE]\n\n"
	case "PING":
		return ": ping\n\n"
	}
	p.fail(fmt.Sprintf("%q is not known; known: ROLE, DONE, PING, C(), R(), T(), FIN(), U(), J(), D() and strings in quotes", word))
	return ""
}

func (p *lineParser) shorthand(name, argument string) string {
	var text string
	switch name {
	case "C", "R", "T":
		if json.Unmarshal([]byte(argument), &text) != nil {
			p.fail(name + "() takes a string in quotes as JSON writes it, or null")
		}
	case "J":
		if !json.Valid([]byte(argument)) {
			p.fail("J() takes JSON; D() takes anything")
		}
	}
	switch name {
	case "C":
		return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", argument)
	case "R":
		return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":%s}}]}\n\n", argument)
	case "T":
		return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"text\":%s}]}\n\n", argument)
	case "FIN":
		return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\n", argument)
	case "U":
		first, second, _ := strings.Cut(argument, ",")
		in, err := strconv.Atoi(strings.TrimSpace(first))
		out, err2 := strconv.Atoi(strings.TrimSpace(second))
		if err != nil || err2 != nil {
			p.fail("U takes two numbers: prompt and completion tokens")
		}
		return fmt.Sprintf("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d,\"total_tokens\":%d}}\n\n", in, out, in+out)
	case "J", "D":
		return "data: " + argument + "\n\n"
	}
	p.fail(fmt.Sprintf("%s() is not known; known: C, R, T, FIN, U, J, D", name))
	return ""
}

// Play writes the transcript to a connection in one of the three ways. It does not close the connection; reset is done
// by the caller, who knows what it is.
func (t Transcript) Play(w io.Writer, how string, sleep func(time.Duration)) error {
	at := time.Duration(0)
	for _, p := range t.Pieces {
		if how == AsWritten && p.At > at {
			sleep(p.At - at)
			at = p.At
		}
		size := len(p.Bytes)
		for b := p.Bytes; len(b) > 0; b = b[size:] {
			if how == ByteWise {
				size = step(len(p.Bytes)-len(b), len(b))
			}
			if _, err := w.Write(b[:size]); err != nil {
				return err
			}
		}
	}
	if t.End == "hold" && how == AsWritten {
		sleep(t.Hold)
	}
	return nil
}

// step is the length of the next write byte by byte, with so many bytes written and left.
func step(written, left int) int {
	const edge, odd = 32 << 10, 997
	if written > edge && left > edge+odd {
		return odd
	}
	return 1
}

// loadScripts reads the transcripts of mode script.
func (s *Server) loadScripts() error {
	for _, path := range s.spec.Scripts {
		b, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read transcript: %w", err)
		}
		t, err := ParseTranscript(path, string(b))
		if err != nil {
			return err
		}
		s.scripts = append(s.scripts, t)
	}
	return nil
}

// playNext answers with the transcripts in turn. The connection ends with each, unless its head keeps it open.
func (s *Server) playNext(w *reply) error {
	s.mu.Lock()
	t := s.scripts[s.play%len(s.scripts)]
	s.play++
	s.mu.Unlock()
	if err := t.Play(w.conn, AsWritten, func(d time.Duration) { s.wait(s.now() + d) }); err != nil {
		return err
	}
	if tcp, ok := w.conn.(*net.TCPConn); ok && t.End == "reset" {
		tcp.SetLinger(0)
	}
	return errHangUp
}
