package verdict

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"treeline/internal/measure/record"
)

// Source is one saved result, read for comparison: the starts of a baseline file, or a probe.
type Source struct {
	Path   string
	Name   string // of the file or folder, without extension; the name of its arm
	Starts []record.Start
	Probe  *Probe
}

// ReadSource reads a saved result: a baseline file, a folder that holds one, or the output of `probe --json`. What a
// file is is told by its content.
func ReadSource(path string) (Source, error) {
	file, name, err := locate(path)
	if err != nil {
		return Source{}, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return Source{}, fmt.Errorf("read result: %w", err)
	}
	s := Source{Path: file, Name: name}
	var head struct {
		Schema string   `json:"schema"`
		TokS   *float64 `json:"tok_s"`
		Tokens *int     `json:"completion_tokens"`
		Secs   *float64 `json:"seconds"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Source{}, fmt.Errorf("read result %s: %w", file, explain(err, data))
	}
	switch {
	case head.Schema == record.BenchSchema:
		s.Starts, err = readStarts(file, name)
	case head.Schema == ResultSchema:
		err = fmt.Errorf("read result %s: it is a verdict already; give the baseline files that bench wrote", file)
	case head.Schema != "":
		err = fmt.Errorf("read result %s: its schema is %q; this version reads %q and the output of probe --json", file, head.Schema, record.BenchSchema)
	case head.TokS != nil || head.Secs != nil && head.Tokens != nil:
		s.Probe = &Probe{}
		if err = json.Unmarshal(data, s.Probe); err != nil {
			err = fmt.Errorf("read probe %s: %w", file, explain(err, data))
		}
		s.Probe.Name = name
	default:
		err = fmt.Errorf("read result %s: neither a baseline file (\"schema\": %q) nor the output of probe --json (\"tok_s\", \"completion_tokens\", \"seconds\")", file, record.BenchSchema)
	}
	if err != nil {
		return Source{}, err
	}
	return s, nil
}

// locate finds the file behind path and the name to call it by.
func locate(path string) (file, name string, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", fmt.Errorf("read result %s: no such file or folder; bench --out DIR writes DIR/%s", path, record.BaselineFile)
	case err != nil:
		return "", "", fmt.Errorf("read result: %w", err)
	case info.IsDir():
		file = filepath.Join(path, record.BaselineFile)
		if _, err := os.Stat(file); err != nil {
			return "", "", fmt.Errorf("read result %s: the folder holds no %s; give a folder that bench --out wrote, or a file", path, record.BaselineFile)
		}
	default:
		file = path
	}
	name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	if filepath.Base(file) == record.BaselineFile {
		if dir, err := filepath.Abs(filepath.Dir(file)); err == nil {
			name = filepath.Base(dir)
		}
	}
	return file, name, nil
}

// readStarts gives the starts of a baseline file, named after the file. Blocks of different files have nothing to do
// with each other, so they are forgotten: such starts did not alternate with those of another file.
func readStarts(file, name string) ([]record.Start, error) {
	bench, err := record.ReadBench(file)
	if err != nil {
		return nil, err
	}
	if len(bench.Starts) == 0 {
		return nil, fmt.Errorf("read result %s: it has no \"starts\", so nothing can be paired by prompt; give the file that bench --out DIR wrote as DIR/%s", file, record.BaselineFile)
	}
	starts := make([]record.Start, len(bench.Starts))
	for i, s := range bench.Starts {
		s.Arm, s.Block, s.Order = name, 0, i+1
		if s.Requests == nil && len(bench.Starts) == 1 {
			s.Requests = &bench.Requests
		}
		starts[i] = s
	}
	return starts, nil
}

// CompareSources compares saved results with the first one. Baseline files go with baseline files, probes with probes.
func CompareSources(sources []Source, o Options) (Result, error) {
	if len(sources) < 2 {
		return Result{}, errors.New("compare: two results are needed, the old one and a new one")
	}
	unique(sources)
	var starts []record.Start
	var probes []Probe
	for _, s := range sources {
		starts = append(starts, s.Starts...)
		if s.Probe != nil {
			p := *s.Probe
			p.Name = s.Name
			probes = append(probes, p)
		}
	}
	switch {
	case len(probes) == len(sources):
		return CompareProbes(probes[0], probes[1:])
	case len(probes) > 0:
		return Result{}, fmt.Errorf("compare: %s is one request and %s a measurement; compare like with like, that is measure both with bench", named(sources, true), named(sources, false))
	}
	o.Baseline = sources[0].Name
	return Compare(starts, o)
}

// unique gives sources of the same name a number, and their starts too.
func unique(sources []Source) {
	count := map[string]int{}
	for i := range sources {
		s := &sources[i]
		count[s.Name]++
		if n := count[s.Name]; n > 1 {
			s.Name = fmt.Sprintf("%s (%d)", s.Name, n)
			s.Starts = slices.Clone(s.Starts)
			for j := range s.Starts {
				s.Starts[j].Arm = s.Name
			}
		}
	}
}

func named(sources []Source, probe bool) string {
	for _, s := range sources {
		if (s.Probe != nil) == probe {
			return s.Path
		}
	}
	return ""
}

// explain adds line and column to a JSON error.
func explain(err error, data []byte) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(-1)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	if offset < 0 {
		return err
	}
	before := string(data[:min(offset, int64(len(data)))])
	line := 1 + strings.Count(before, "\n")
	column := len(before) - strings.LastIndexByte(before, '\n') - 1
	return fmt.Errorf("not the JSON of a result, line %d column %d: %w; give a file that bench --out or probe --json wrote", line, max(1, column), err)
}
