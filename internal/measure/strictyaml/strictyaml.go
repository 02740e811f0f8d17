// Package strictyaml reads one YAML document that a person wrote into a Go struct and reports every fault with its
// place: unknown keys with the known ones beside them, wrong types in words, and the faults that the caller finds in
// the values. It knows nothing of what the document means.
package strictyaml

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Decode reads exactly one document into the struct that form points to, without unknown keys, and reports whether it
// could. empty is what to say of a file with nothing in it, "" when that is fine.
func (f *Faults) Decode(text []byte, form any, empty string) bool {
	f.form = form
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		f.yaml(err)
		return false
	}
	if len(doc.Content) == 0 {
		if empty != "" {
			f.Add(0, 0, "%s", empty)
		}
		return empty == ""
	}
	f.root = doc.Content[0]
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(form); err != nil {
		f.yaml(err)
		return false
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		f.Add(second.Line, 1, "this is more than one YAML document; remove what follows ---")
		return false
	}
	return true
}

// keysOf lists the YAML keys of the struct with the given name, which is t or a part of it.
func keysOf(t reflect.Type, name string) []string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return keysOf(t.Elem(), name)
	case reflect.Struct:
	default:
		return nil
	}
	var keys []string
	for i := range t.NumField() {
		key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		keys = append(keys, key)
	}
	if t.Name() == name {
		return keys
	}
	for i := range t.NumField() {
		if found := keysOf(t.Field(i).Type, name); found != nil {
			return found
		}
	}
	return nil
}
