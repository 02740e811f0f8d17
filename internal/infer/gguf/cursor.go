package gguf

import (
	"encoding/binary"
	"fmt"
)

// cursor reads a file from front to back. Its invariant is at <= len(data); no method moves it past the end.
type cursor struct {
	data []byte
	at   int
}

func (c *cursor) left() uint64 { return uint64(len(c.data) - c.at) }

// fault is an error at the cursor's place.
func (c *cursor) fault(format string, args ...any) error { return faultAt(c.at, format, args...) }

func faultAt(offset int, format string, args ...any) error {
	return fmt.Errorf("offset %d: %w", offset, fmt.Errorf(format, args...))
}

func (c *cursor) take(n uint64, what string) ([]byte, error) {
	if n > c.left() {
		return nil, c.fault("%s takes %d bytes, but only %d are left in the file", what, n, c.left())
	}
	b := c.data[c.at : c.at+int(n)]
	c.at += int(n)
	return b, nil
}

func (c *cursor) uint32(what string) (uint32, error) {
	b, err := c.take(4, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (c *cursor) uint64(what string) (uint64, error) {
	b, err := c.take(8, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// text reads a string: its length in 8 bytes, then its bytes, which alias the file. most is the longest allowed.
func (c *cursor) text(most uint64, what string) ([]byte, error) {
	start := c.at
	n, err := c.uint64("the length of a string")
	if err != nil {
		return nil, err
	}
	if n > most {
		return nil, faultAt(start, "%s is %d bytes long, at most %d are allowed", what, n, most)
	}
	return c.take(n, what)
}
