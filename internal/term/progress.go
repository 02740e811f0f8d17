// Package term shows a person how a command gets on: lines that move on a terminal, and a line now and then where
// nothing can move, such as a log. It knows sizes and durations as people read them.
//
// It is for talk, never for results: tables and verdicts are printed by whoever made them. It uses no colour, so there
// is nothing that NO_COLOR would have to switch off, and it reads no environment: what the terminal can do is given.
package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
)

// How often moving lines are written: redrawn on a terminal, and as one line elsewhere.
const (
	redrawEvery = 250 * time.Millisecond
	logEvery    = 10 * time.Second
)

// DefaultWidth is the number of columns where nobody knows a better one.
const DefaultWidth = 80

// Progress writes lines that stay, and below them a block of lines that the next one replaces. Where nothing can be
// replaced the block is written as a single line when ten seconds went by without any. It may be used from several
// goroutines. The nil Progress writes nothing.
type Progress struct {
	w     io.Writer
	live  bool
	width func() int

	mu    sync.Mutex
	block []string    // the moving lines as last set
	drawn int         // lines of the block that are on the terminal
	last  time.Time   // of the last writing
	timer *time.Timer // draws what was set too soon after the last drawing; nil when none is due
}

// NewProgress writes to w. live says that w is a terminal whose cursor can be moved; width gives its columns and is
// asked at every drawing, because windows are resized. A nil width means DefaultWidth.
func NewProgress(w io.Writer, live bool, width func() int) *Progress {
	if width == nil {
		width = func() int { return DefaultWidth }
	}
	return &Progress{w: w, live: live, width: width, last: time.Now()}
}

// Line writes a line that stays, in the place of the moving ones.
func (p *Progress) Line(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintf(p.w, format+"\n", args...)
	if !p.live { // a terminal's next moving lines need not wait for a line that stays
		p.last = time.Now()
	}
}

// Set replaces the moving lines.
func (p *Progress) Set(lines ...string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.block = append(p.block[:0], lines...)
	since := time.Since(p.last)
	switch {
	case !p.live:
		if since >= logEvery {
			p.last = time.Now()
			fmt.Fprintln(p.w, strings.TrimSpace(strings.Join(p.block, "; ")))
		}
	case since >= redrawEvery || p.drawn == 0:
		p.draw()
	case p.timer == nil:
		p.timer = time.AfterFunc(redrawEvery-since, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.timer != nil { // not erased in the meantime
				p.draw()
			}
		})
	}
}

// Close takes the moving lines away, so that what others write starts on a line of its own. Progress can be used on.
func (p *Progress) Close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

// draw writes the block over the one before. The cursor rests at the end of its last line.
func (p *Progress) draw() {
	p.stop()
	var b strings.Builder
	b.WriteString(p.home())
	width := p.width()
	for i, line := range p.block {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(Cut(line, width-1))
	}
	io.WriteString(p.w, b.String())
	p.drawn, p.last = len(p.block), time.Now()
}

// erase removes the block, from the terminal and from what is still to be drawn.
func (p *Progress) erase() {
	p.stop()
	if p.drawn > 0 {
		io.WriteString(p.w, p.home())
	}
	p.block, p.drawn = p.block[:0], 0
}

// home moves the cursor to the block's first column and clears from there on.
func (p *Progress) home() string {
	if p.drawn > 1 {
		return fmt.Sprintf("\r\x1b[%dA\x1b[J", p.drawn-1)
	}
	return "\r\x1b[J"
}

func (p *Progress) stop() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

// Cut shortens a line to at most width characters, the last one then an ellipsis: a line that wraps cannot be drawn
// over. Control characters, which a server's output may hold, become spaces. Characters are taken as one column wide.
func Cut(line string, width int) string {
	clean := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, line))
	if width < 1 || len(clean) <= width {
		return string(clean)
	}
	return string(clean[:width-1]) + "…"
}
