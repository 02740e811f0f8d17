package plan

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"treeline/internal/measure/strictyaml"
)

// maxFileBytes bounds what is read: a plan is written by a person.
const maxFileBytes = 1 << 20

// Load reads and resolves a plan file. All its faults are reported at once, as strictyaml.Errors.
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
	f := faults{strictyaml.New(path, b)}
	var form file
	if !f.Decode(b, &form, "the plan is empty; `treeline plan --init` writes one to start from") {
		return Plan{}, f.Err()
	}
	form.fill()
	f.validate(form)
	if err := f.Err(); err != nil {
		return Plan{}, err
	}
	return resolve(path, form)
}

// faults are the errors of a plan file.
type faults struct{ *strictyaml.Faults }

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
