package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
)

// kind is the type of a metadata value, by its number in the file.
type kind uint32

const (
	kindUint8   kind = 0
	kindInt8    kind = 1
	kindUint16  kind = 2
	kindInt16   kind = 3
	kindUint32  kind = 4
	kindInt32   kind = 5
	kindFloat32 kind = 6
	kindBool    kind = 7
	kindString  kind = 8
	kindArray   kind = 9
	kindUint64  kind = 10
	kindInt64   kind = 11
	kindFloat64 kind = 12
)

func (k kind) String() string {
	names := [...]string{"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "bool", "string", "array", "uint64", "int64", "float64"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind %d", uint32(k))
}

// size is the size in the file of a kind that always has the same, zero for strings and arrays.
func (k kind) size() uint64 {
	switch k {
	case kindUint8, kindInt8, kindBool:
		return 1
	case kindUint16, kindInt16:
		return 2
	case kindUint32, kindInt32, kindFloat32:
		return 4
	case kindUint64, kindInt64, kindFloat64:
		return 8
	}
	return 0
}

func (k kind) known() bool { return k <= kindFloat64 }

// value is where a metadata value lies in the file. Values are decoded when they are asked for, so that a file costs
// no memory for what nobody reads.
type value struct {
	kind  kind
	elem  kind   // of an array
	count uint64 // of an array
	at    int    // of the first byte: of a string its length, of an array its first element
	end   int
}

func (v value) describe() string {
	if v.kind == kindArray {
		return fmt.Sprintf("an array of %d × %s", v.count, v.elem)
	}
	return "a value of type " + v.kind.String()
}

// readValue checks a value and finds its end.
func readValue(c *cursor) (value, error) {
	k, err := readKind(c)
	if err != nil {
		return value{}, err
	}
	v := value{kind: k, at: c.at}
	if k == kindArray {
		v.elem, v.count, v.at, err = readArray(c, 1)
	} else {
		err = skip(c, k, 1, 1)
	}
	v.end = c.at
	return v, err
}

func readKind(c *cursor) (kind, error) {
	start := c.at
	n, err := c.uint32("the type of a value")
	if err == nil && !kind(n).known() {
		err = faultAt(start, "value type %d does not exist", n)
	}
	return kind(n), err
}

// readArray checks an array and all of its elements; at is where the first lies.
func readArray(c *cursor, depth int) (elem kind, count uint64, at int, err error) {
	start := c.at
	if depth > maxArrayDepth {
		return 0, 0, 0, faultAt(start, "arrays are nested more than %d deep", maxArrayDepth)
	}
	if elem, err = readKind(c); err != nil {
		return 0, 0, 0, err
	}
	if count, err = c.uint64("the length of an array"); err != nil {
		return 0, 0, 0, err
	}
	at = c.at
	return elem, count, at, skip(c, elem, count, depth)
}

// skip checks and passes over count values of a kind. The check against the bytes that are left comes before any
// loop, so that a huge count costs nothing.
func skip(c *cursor, k kind, count uint64, depth int) error {
	least := k.size()
	switch k {
	case kindString:
		least = 8
	case kindArray:
		least = 12
	}
	if count > c.left()/least {
		return c.fault("%d values of type %s take more than the %d bytes that are left in the file", count, k, c.left())
	}
	start := c.at
	switch k {
	case kindString:
		for range count {
			if _, err := c.text(math.MaxUint64, "a string"); err != nil {
				return err
			}
		}
	case kindArray:
		for range count {
			if _, _, _, err := readArray(c, depth+1); err != nil {
				return err
			}
		}
	default:
		c.at += int(count * least)
	}
	if k == kindBool {
		for i, b := range c.data[start:c.at] {
			if b > 1 {
				return faultAt(start+i, "a bool is %d, want 0 or 1", b)
			}
		}
	}
	return nil
}

// integer reads an integer of any size; ok is false for other kinds.
func integer(k kind, b []byte) (n int64, unsigned uint64, ok bool) {
	switch k {
	case kindUint8:
		return int64(b[0]), uint64(b[0]), true
	case kindInt8:
		n = int64(int8(b[0]))
	case kindUint16:
		n = int64(binary.LittleEndian.Uint16(b))
	case kindInt16:
		n = int64(int16(binary.LittleEndian.Uint16(b)))
	case kindUint32:
		n = int64(binary.LittleEndian.Uint32(b))
	case kindInt32:
		n = int64(int32(binary.LittleEndian.Uint32(b)))
	case kindInt64:
		n = int64(binary.LittleEndian.Uint64(b))
	case kindUint64:
		u := binary.LittleEndian.Uint64(b)
		return int64(min(u, math.MaxInt64)), u, true
	default:
		return 0, 0, false
	}
	return n, uint64(max(n, 0)), true
}
