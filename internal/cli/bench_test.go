package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"treeline/internal/measure/record"
	"treeline/internal/measure/targettest"
)

// call runs the command line in this process.
func call(args ...string) (code int, stdout, stderr string) {
	var out, talk bytes.Buffer
	code = Main(&Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &talk, Getenv: func(string) string { return "" }})
	return code, out.String(), talk.String()
}

func decode[T any](t *testing.T, s string) T {
	t.Helper()
	var v T
	dec := json.NewDecoder(strings.NewReader(s))
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("stdout is not JSON: %v\n%s", err, s)
	}
	if dec.More() {
		t.Errorf("stdout holds more than one JSON object:\n%s", s)
	}
	return v
}

func TestBenchCommand(t *testing.T) {
	t.Parallel()
	s := targettest.Start(t, targettest.Options{Step: 8 * time.Millisecond, Tokens: 40})
	file := filepath.Join(t.TempDir(), "base.json")
	code, out, talk := call("bench", s.URL, "--no-certify", "--requests", "6", "--warmup", "1", "--append", file, "--json")
	b := decode[record.Bench](t, out)
	if code != 0 || b.Schema != record.BenchSchema || b.Requests.OK != 6 || b.Target.Method != "none" || b.Target.ProofLevel != 2 || b.Starts != nil {
		t.Fatalf("exit code %d\n%s\n%s", code, out, talk)
	}
	if m := b.Metrics["tpot_ms"]; m.N != 6 || m.Lo == nil || m.P90 != nil {
		t.Errorf("tpot_ms %+v, want an interval and no p90 for n = 6", m)
	}
	if !strings.Contains(talk, "6 of 6 requests done") {
		t.Errorf("stderr without progress: %s", talk)
	}
	kept, err := record.ReadBench(file)
	if err != nil || len(kept.Starts) != 1 || len(kept.Starts[0].Prompts) != 6 || kept.Starts[0].Fingerprint.Cores == 0 {
		t.Fatalf("baseline: %+v, %v", kept, err)
	}

	s.Restart()
	code, out, talk = call("bench", s.URL, "--no-certify", "--requests", "2", "--warmup", "0", "--append", file)
	if code != 0 || !strings.Contains(out, "tpot_ms") || !strings.Contains(out, "within this server start") {
		t.Errorf("exit code %d\n%s\n%s", code, out, talk)
	}
	kept, err = record.ReadBench(file)
	if err != nil || len(kept.Starts) != 2 || kept.Starts[1].Order != 2 || kept.Starts[0].ServerStart == kept.Starts[1].ServerStart {
		t.Fatalf("after --append: %+v, %v", kept, err)
	}
}

func TestBenchFailures(t *testing.T) {
	t.Parallel()
	plain := targettest.Start(t, targettest.Options{Step: 8 * time.Millisecond, Tokens: 40})
	blocked := filepath.Join(t.TempDir(), "file")
	os.WriteFile(blocked, []byte("x"), 0o644)
	tests := []struct {
		name string
		args []string
		code int
		talk string
	}{
		{"not a baseline", []string{"bench", plain.URL, "--append", blocked}, 1, "read baseline"},
		{"no prompt file", []string{"bench", plain.URL, "--prompts", blocked + ".none"}, 1, "no such file"},
		{"unknown model", []string{"bench", plain.URL, "--model", "other"}, 1, "it has stand-in"},
		{"two addresses", []string{"probe", "a", "b"}, 2, "needs the address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, out, talk := call(tt.args...)
			if code != tt.code || !strings.Contains(talk, tt.talk) {
				t.Errorf("exit code %d, stderr %q; want %d and %q", code, talk, tt.code, tt.talk)
			}
			if out != "" {
				t.Errorf("stdout %q, want nothing", out)
			}
		})
	}
}
