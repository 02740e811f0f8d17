package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFileBytes bounds what is read: a plan is written by a person.
const maxFileBytes = 1 << 20

// Load reads and resolves a plan file. All its faults are reported at once, as Errors.
func Load(path string) (Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return Plan{}, fmt.Errorf("read plan: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return Plan{}, fmt.Errorf("read plan %s: %w", path, err)
	}
	if len(b) > maxFileBytes {
		return Plan{}, fmt.Errorf("read plan %s: larger than %d bytes; is it a plan?", path, maxFileBytes)
	}
	return Parse(path, b)
}

// Parse reads and resolves the text of a plan; path names it in errors, and relative paths in it start at its folder.
func Parse(path string, b []byte) (Plan, error) {
	f := &faults{file: path, lines: strings.Split(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n")}
	form, ok := f.decode(b)
	if !ok {
		return Plan{}, f.err()
	}
	form.fill()
	f.validate(form)
	if err := f.err(); err != nil {
		return Plan{}, err
	}
	return resolve(path, form)
}

// decode reads exactly one YAML document into the form of a plan, without unknown keys.
func (f *faults) decode(b []byte) (form file, ok bool) {
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		f.yaml(err)
		return form, false
	}
	if len(doc.Content) == 0 {
		f.add(0, 0, "the plan is empty; `treeline plan --init` writes one to start from")
		return form, false
	}
	f.root = doc.Content[0]
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if err := dec.Decode(&form); err != nil {
		f.yaml(err)
		return form, false
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		f.add(second.Line, 1, "a plan is one YAML document; remove what follows ---")
		return form, false
	}
	return form, true
}

// keysOf lists the keys of a part of the form, by the name of its Go type.
func keysOf(typeName string) []string {
	for _, v := range []any{file{}, fileWorkload{}, fileIdle{}, fileArm{}, fileTreeline{}} {
		t := reflect.TypeOf(v)
		if t.Name() != typeName {
			continue
		}
		var keys []string
		for i := range t.NumField() {
			key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
			keys = append(keys, key)
		}
		return keys
	}
	return nil
}

// beside makes a path of a plan absolute, seen from the folder of the plan.
func beside(planPath, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	abs, err := filepath.Abs(filepath.Join(filepath.Dir(planPath), path))
	if err != nil {
		return path
	}
	return abs
}

// modelPath is beside for what looks like a path or exists as one; anything else is the name of a model.
func modelPath(planPath, model string) string {
	if !strings.ContainsAny(model, `/\`) && !strings.HasSuffix(model, ".gguf") {
		if _, err := os.Stat(beside(planPath, model)); err != nil {
			return model
		}
	}
	return beside(planPath, model)
}
