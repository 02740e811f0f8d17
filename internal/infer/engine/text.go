package engine

import "strings"

// output turns tokens into text and looks for stop strings across token boundaries. Text that may be the beginning of
// a stop string is held back until that is decided, so nothing of a stop string ever goes out.
type output struct {
	detok Detokenizer // nil: no text
	stops []string
	held  string
}

// push adds a token. It returns the text that is free to go and the stop string that was completed, if any. While
// mayStop is false, text goes out as it is: stop strings count only from min_tokens on, and do not reach back.
func (o *output) push(token int32, mayStop bool) (text, stop string) {
	if o.detok == nil {
		return "", ""
	}
	return o.add(o.detok.Push(token), mayStop)
}

// end flushes an incomplete character and what was held back.
func (o *output) end(mayStop bool) (text, stop string) {
	if o.detok == nil {
		return "", ""
	}
	text, stop = o.add(o.detok.Flush(), mayStop)
	if stop == "" {
		text += o.held
	}
	o.held = ""
	return text, stop
}

func (o *output) add(piece string, mayStop bool) (text, stop string) {
	if len(o.stops) == 0 || !mayStop {
		text = o.held + piece
		o.held = ""
		return text, ""
	}
	if piece == "" {
		return "", ""
	}
	all := o.held + piece
	at := -1
	for _, s := range o.stops {
		if i := strings.Index(all, s); i >= 0 && (at < 0 || i < at) {
			at, stop = i, s
		}
	}
	if at >= 0 {
		o.held = ""
		return all[:at], stop
	}
	keep := 0
	for _, s := range o.stops {
		keep = max(keep, overlap(all, s))
	}
	o.held = all[len(all)-keep:]
	return all[:len(all)-keep], ""
}

// overlap is the length of the longest end of text that is a proper beginning of stop. Both are whole characters, so
// the cut falls between characters.
func overlap(text, stop string) int {
	for n := min(len(stop)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, stop[:n]) {
			return n
		}
	}
	return 0
}
