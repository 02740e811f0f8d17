package loadgen

import "bytes"

// doneMark finds the event [DONE] in a stream without parsing it. A model may well write [DONE] itself, and reads cut
// where they like: it is the event only on a line of its own, after the field data, and with the empty line behind it.
type doneMark struct {
	seen bool
	open bool // the mark was there, the empty line was not yet
	tail []byte
}

var (
	mark = []byte("[DONE]")
	data = []byte("data:")
)

// markContext is what must be kept of earlier reads: the line before the mark, and the mark itself.
const markContext = 32

// find takes the bytes of the next read.
func (d *doneMark) find(b []byte) bool {
	edge := append(d.tail, b[:min(len(b), len(mark))]...)
	if d.open || bytes.Contains(b, mark) || bytes.Contains(edge, mark) {
		all := append(bytes.Clone(d.tail), b...)
		d.open = false
		for from := 0; !d.seen; {
			i := bytes.Index(all[from:], mark)
			if i < 0 {
				break
			}
			from += i + len(mark)
			if isData(all[:from-len(mark)]) {
				d.seen, d.open = emptyLine(all[from:])
			}
		}
		d.keep(all)
		return d.seen
	}
	d.keep(append(d.tail, b[max(0, len(b)-markContext):]...))
	return false
}

func (d *doneMark) keep(b []byte) {
	if d.tail == nil {
		d.tail = make([]byte, 0, 3*markContext)
	}
	b = b[max(0, len(b)-markContext):]
	d.tail = append(d.tail[:0], b...)
}

// isData reports whether b ends with the beginning of a line "data:" and spaces.
func isData(b []byte) bool {
	b, ok := bytes.CutSuffix(bytes.TrimRight(b, " "), data)
	return ok && (len(b) == 0 || b[len(b)-1] == '\n' || b[len(b)-1] == '\r')
}

// emptyLine reports whether b ends the line and the event, or may do so with what comes next.
func emptyLine(b []byte) (ends, open bool) {
	rest := bytes.TrimLeft(b, " ")
	for range 2 {
		switch {
		case len(rest) == 0:
			return false, true
		case bytes.HasPrefix(rest, []byte("\r\n")):
			rest = rest[2:]
		case rest[0] == '\n' || rest[0] == '\r':
			rest = rest[1:]
		default:
			return false, false
		}
	}
	return true, false
}
