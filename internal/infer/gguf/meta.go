package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// maxStrings bounds the length of an array of strings that Strings decodes: 16 bytes of bookkeeping for each, 32 MB
// in all. The largest vocabularies have a few hundred thousand entries.
const maxStrings = 1 << 21

// Keys lists the metadata keys in the order of the file.
func (f *File) Keys() []string { return slices.Clone(f.keys) }

// Has tells whether a key is there, whatever its type.
func (f *File) Has(key string) bool {
	_, ok := f.meta[key]
	return ok
}

// Fault explains why an accessor answered false: the key is missing, or its value is of another type than want
// (words such as "an integer").
func (f *File) Fault(key, want string) error {
	v, ok := f.meta[key]
	if !ok {
		return fmt.Errorf("metadata key %s is missing, want %s", key, want)
	}
	return fmt.Errorf("metadata key %s is %s (at offset %d), want %s", key, v.describe(), v.at, want)
}

// Architecture is general.architecture, which every model file must have.
func (f *File) Architecture() (string, error) {
	arch, ok := f.String("general.architecture")
	if !ok || arch == "" {
		return "", f.Fault("general.architecture", "a string that is not empty")
	}
	return arch, nil
}

// String returns a string value; ok is false when the key is missing or of another type.
func (f *File) String(key string) (s string, ok bool) {
	v, ok := f.meta[key]
	if !ok || v.kind != kindString {
		return "", false
	}
	return string(f.data[v.at+8 : v.end]), true
}

// Uint returns an integer of any size that is not negative; ok is false otherwise.
func (f *File) Uint(key string) (n uint64, ok bool) {
	v, ok := f.meta[key]
	if !ok {
		return 0, false
	}
	signed, n, ok := integer(v.kind, f.data[v.at:v.end])
	return n, ok && signed >= 0
}

// Float returns a floating-point number or an integer; ok is false otherwise.
func (f *File) Float(key string) (x float64, ok bool) {
	v, ok := f.meta[key]
	if !ok {
		return 0, false
	}
	return number(v.kind, f.data[v.at:v.end])
}

// Bool returns a bool; ok is false when the key is missing or of another type.
func (f *File) Bool(key string) (b, ok bool) {
	v, ok := f.meta[key]
	if !ok || v.kind != kindBool {
		return false, false
	}
	return f.data[v.at] == 1, true
}

// StringOr, UintOr, FloatOr and BoolOr return a default when the key is missing and an error when it is there with
// another type.
func (f *File) StringOr(key, missing string) (string, error) {
	return or(f, key, "a string", missing, f.String)
}

// UintOr: see StringOr.
func (f *File) UintOr(key string, missing uint64) (uint64, error) {
	return or(f, key, "an integer that is not negative", missing, f.Uint)
}

// FloatOr: see StringOr.
func (f *File) FloatOr(key string, missing float64) (float64, error) {
	return or(f, key, "a number", missing, f.Float)
}

// BoolOr: see StringOr.
func (f *File) BoolOr(key string, missing bool) (bool, error) {
	return or(f, key, "a bool", missing, f.Bool)
}

func or[T any](f *File, key, want string, missing T, get func(string) (T, bool)) (T, error) {
	if v, ok := get(key); ok {
		return v, nil
	}
	if f.Has(key) {
		return missing, f.Fault(key, want)
	}
	return missing, nil
}

// Strings decodes an array of strings. They share one copy of the array's bytes and stay valid after Close.
func (f *File) Strings(key string) ([]string, error) {
	v, ok := f.meta[key]
	if !ok || v.kind != kindArray || v.elem != kindString {
		return nil, f.Fault(key, "an array of strings")
	}
	if v.count > maxStrings {
		return nil, fmt.Errorf("metadata key %s has %d strings, at most %d are supported", key, v.count, maxStrings)
	}
	all := string(f.data[v.at:v.end])
	list := make([]string, v.count)
	at := v.at
	for i := range list {
		n := int(binary.LittleEndian.Uint64(f.data[at:]))
		at += 8
		list[i] = all[at-v.at : at-v.at+n]
		at += n
	}
	return list, nil
}

// Int32s decodes an array of integers of any size whose values fit 32 bits.
func (f *File) Int32s(key string) ([]int32, error) {
	v, ok := f.meta[key]
	if !ok || v.kind != kindArray || v.elem.size() == 0 {
		return nil, f.Fault(key, "an array of integers")
	}
	size := int(v.elem.size())
	if err := f.smallArray(key, v, 4); err != nil {
		return nil, err
	}
	list := make([]int32, v.count)
	for i := range list {
		n, u, ok := integer(v.elem, f.data[v.at+i*size:])
		if !ok {
			return nil, f.Fault(key, "an array of integers")
		}
		if n < math.MinInt32 || n > math.MaxInt32 || u > math.MaxInt32 {
			return nil, fmt.Errorf("metadata key %s: element %d (at offset %d) does not fit 32 bits", key, i, v.at+i*size)
		}
		list[i] = int32(n)
	}
	return list, nil
}

// Floats decodes an array of numbers as float32.
func (f *File) Floats(key string) ([]float32, error) {
	v, ok := f.meta[key]
	if !ok || v.kind != kindArray || v.elem.size() == 0 {
		return nil, f.Fault(key, "an array of numbers")
	}
	size := int(v.elem.size())
	if err := f.smallArray(key, v, 4); err != nil {
		return nil, err
	}
	list := make([]float32, v.count)
	for i := range list {
		x, ok := number(v.elem, f.data[v.at+i*size:])
		if !ok {
			return nil, f.Fault(key, "an array of numbers")
		}
		list[i] = float32(x)
	}
	return list, nil
}

// smallArray refuses an array that would be larger in memory, at elem bytes a value, than in the file plus 32 MB.
func (f *File) smallArray(key string, v value, elem uint64) error {
	if v.elem.size() < elem && v.count*elem > 32<<20 {
		return fmt.Errorf("metadata key %s has %d values, at most %d are supported", key, v.count, (32<<20)/elem)
	}
	return nil
}

func number(k kind, b []byte) (float64, bool) {
	switch k {
	case kindFloat32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), true
	case kindFloat64:
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), true
	case kindUint64:
		return float64(binary.LittleEndian.Uint64(b)), true
	}
	n, _, ok := integer(k, b)
	return float64(n), ok
}
