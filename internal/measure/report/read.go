package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"treeline/internal/measure/record"
	"treeline/internal/measure/verdict"
)

// ResultFile is the name of a verdict inside a run folder.
const ResultFile = "result.json"

// Finished is what a finished run left: a verdict, or the measurement of one service.
type Finished struct {
	Result *verdict.Result
	Bench  *record.Bench
}

// Read reads a finished run: a run folder, or a file with a verdict or a baseline.
func Read(path string) (Finished, error) {
	file := path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		file = filepath.Join(path, ResultFile)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			file = filepath.Join(path, record.BaselineFile)
		}
	}
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && file != path:
		return Finished{}, fmt.Errorf("read run %s: the folder holds neither %s nor %s; the run did not finish (run --resume finishes it), or it is no run folder", path, ResultFile, record.BaselineFile)
	case err != nil:
		return Finished{}, fmt.Errorf("read run: %w", err)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Finished{}, fmt.Errorf("read run %s: not JSON: %w", file, err)
	}
	switch head.Schema {
	case verdict.ResultSchema:
		var r verdict.Result
		if err := json.Unmarshal(data, &r); err != nil {
			return Finished{}, fmt.Errorf("read verdict %s: %w", file, err)
		}
		return Finished{Result: &r}, nil
	case record.BenchSchema:
		b, err := record.ReadBench(file)
		return Finished{Bench: b}, err
	}
	return Finished{}, fmt.Errorf("read run %s: its schema is %q; this version shows %q and %q", file, head.Schema, verdict.ResultSchema, record.BenchSchema)
}
