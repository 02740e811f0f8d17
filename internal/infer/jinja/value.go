package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Value is what a template computes with: nil (None), bool, int64, float64, string, *List, *Dict, and inside of a
// rendering also undefined, functions and namespaces.
type Value = any

// List is a Python list, or a tuple.
type List struct {
	Items []Value
	tuple bool
}

// Dict is a Python dictionary: it keeps the order in which keys were first set. Create with NewDict.
type Dict struct {
	entries []entry
	index   map[any]int
}

type entry struct{ key, value Value }

// NewDict returns an empty dictionary.
func NewDict() *Dict { return &Dict{index: map[any]int{}} }

// Set sets a key and returns the dictionary.
func (d *Dict) Set(key string, v Value) *Dict {
	d.set(key, v)
	return d
}

// Len is the number of keys.
func (d *Dict) Len() int { return len(d.entries) }

// set fails silently for no key: callers check hashable first.
func (d *Dict) set(key, v Value) {
	k := hashKey(key)
	if i, ok := d.index[k]; ok {
		d.entries[i].value = v
		return
	}
	d.index[k] = len(d.entries)
	d.entries = append(d.entries, entry{key, v})
}

// Get finds a key.
func (d *Dict) Get(key string) (Value, bool) { return d.get(key) }

func (d *Dict) get(key Value) (Value, bool) {
	if i, ok := d.index[hashKey(key)]; ok {
		return d.entries[i].value, true
	}
	return nil, false
}

func (d *Dict) remove(key Value) {
	k := hashKey(key)
	i, ok := d.index[k]
	if !ok {
		return
	}
	d.entries = slices.Delete(d.entries, i, i+1)
	delete(d.index, k)
	for k, j := range d.index {
		if j > i {
			d.index[k] = j - 1
		}
	}
}

// hashKey makes keys that Python takes for equal the same: 1, 1.0 and True.
func hashKey(key Value) any {
	switch k := key.(type) {
	case bool:
		if k {
			return int64(1)
		}
		return int64(0)
	case float64:
		if k == math.Trunc(k) && math.Abs(k) < 1<<62 {
			return int64(k)
		}
	case *List:
		return reprKey(pythonRepr(k))
	}
	return key
}

// reprKey keeps tuples apart from the strings that look like them.
type reprKey string

func hashable(v Value) bool {
	switch v := v.(type) {
	case nil, bool, int64, float64, string:
		return true
	case *List:
		return v.tuple && !slices.ContainsFunc(v.Items, func(x Value) bool { return !hashable(x) })
	}
	return false
}

// undefined is the value of a name or member that does not exist. It prints as nothing and fails when used.
type undefined struct{ what string }

// namespace is the only thing whose members a template can set.
type namespace struct{ vars *Dict }

// function is something callable. It may fail by panicking with *Error.
type function struct {
	name string
	call func(s *state, a callArgs) Value
}

// FromJSON decodes JSON to values, keeping the order of members and telling integers from other numbers.
func FromJSON(data []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := decode(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more after the JSON value")
	}
	return v, nil
}

func decode(d *json.Decoder, depth int) (Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("JSON is nested more than %d deep", maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return n, nil
		}
		return t.Float64()
	case json.Delim:
		if t == '[' {
			list := &List{}
			for d.More() {
				v, err := decode(d, depth+1)
				if err != nil {
					return nil, err
				}
				list.Items = append(list.Items, v)
			}
			_, err := d.Token()
			return list, err
		}
		dict := NewDict()
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := decode(d, depth+1)
			if err != nil {
				return nil, err
			}
			dict.set(key.(string), v)
		}
		_, err := d.Token()
		return dict, err
	}
	return t, nil // nil, bool, string
}

// FromGo turns what encoding/json decodes into values. Maps lose nothing but their order, which Go does not keep:
// their keys are sorted. Numbers without a fraction become integers.
func FromGo(v any) (Value, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return FromJSON(data)
}
