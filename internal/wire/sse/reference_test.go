package sse

import "bytes"

// reference is the same parser written the slow way: it sees the whole stream, walks over its lines, and looks up in
// which read a byte came. Reads have the given lengths and the stamps of parse.
func reference(b []byte, reads ...int) []Event {
	readOf := func(offset int) int {
		for i, n := range reads {
			if offset < n {
				return i + 1
			}
			offset -= n
		}
		return max(len(reads), 1)
	}
	bom := 0
	if bytes.HasPrefix(b, []byte("\xef\xbb\xbf")) {
		bom = 3
	}
	var out []Event
	var e Event
	from, has := -1, false // offset of the event's first byte, and whether it has data
	for at := bom; at < len(b); {
		end := at
		for end < len(b) && b[end] != '\n' && b[end] != '\r' {
			end++
		}
		line := b[at:end]
		next := end + 1
		if end+1 < len(b) && b[end] == '\r' && b[end+1] == '\n' {
			next++
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		finished := end < len(b)
		meant := fieldOf(name) != other || (!finished && len(line) <= len("event") && !bytes.Contains(line, []byte(":")))
		if from < 0 && (len(line) == 0 || line[0] != ':') {
			from = at
		}
		switch {
		case len(line) == 0 && has:
			e.Began, e.At, e.Read = int64(10*readOf(from)), int64(10*readOf(end)), readOf(end)
			e.Size = wireSize(b[from : end+1])
			out = append(out, e)
			e, from, has = Event{}, -1, false
		case len(line) == 0:
			e, from = Event{}, -1
		case string(name) == "data" && has:
			e.Data = append(append(e.Data, '\n'), value...)
		case string(name) == "data":
			e.Data, has = append([]byte{}, value...), true
		case string(name) == "event":
			e.Name = string(value)
		case string(name) == "id":
			e.ID = string(value)
		}
		if !finished && meant && line[0] != ':' && !has { // a field that the end cut off
			has = true
		}
		at = next
	}
	if has {
		last := len(reads)
		e.Began, e.At, e.Read, e.Size, e.Truncated = int64(10*readOf(from)), int64(10*last), last, wireSize(b[from:]), true
		out = append(out, e)
	}
	return out
}

// wireSize counts bytes with CRLF as one.
func wireSize(b []byte) int { return len(b) - bytes.Count(b, []byte("\r\n")) }

func lengths(pieces []string) []int {
	var out []int
	for _, p := range pieces {
		out = append(out, len(p))
	}
	return out
}
