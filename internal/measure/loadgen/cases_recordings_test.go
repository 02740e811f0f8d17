package loadgen_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"treeline/internal/measure/simserver"
	"treeline/internal/sharedtest"
)

// TestCasesRecordings plays every recorded stream of the real servers in the three ways: at the times of its reads, at
// once, and byte by byte. The events are the same in all, and at 1x the first and last tokens come when they came.
func TestCasesRecordings(t *testing.T) {
	raws, err := filepath.Glob(filepath.Join(sharedtest.Dir(t), "recordings", "*", "stream_*.raw"))
	if err != nil || len(raws) < 60 {
		t.Fatalf("%d recorded streams, %v", len(raws), err)
	}
	for _, path := range raws {
		name := filepath.Base(filepath.Dir(path)) + "/" + strings.TrimSuffix(filepath.Base(path), ".raw")
		t.Run(name, func(t *testing.T) {
			script := recordedScript(t, path)
			if len(script.Pieces) == 0 {
				t.Skip("no read times beside it")
			}
			want := playCase(t, script, simserver.AsWritten, 0)
			for _, how := range []string{simserver.AtOnce, simserver.ByteWise} {
				got := playCase(t, script, how, 0)
				if diff := cmp.Diff(eventList(want), eventList(got)); diff != "" {
					t.Errorf("events differ (-1x +%s):\n%s", how, diff)
				}
				if got.OK != want.OK || got.ErrorClass != want.ErrorClass {
					t.Errorf("%s: ok %v, class %q; at 1x %v, %q", how, got.OK, got.ErrorClass, want.OK, want.ErrorClass)
				}
			}
		})
	}
}

// recordedScript is a recording as a transcript, one piece for each of its reads.
func recordedScript(t *testing.T, path string) (out simserver.Transcript) {
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(strings.TrimSuffix(path, ".raw") + ".reads.json")
	if err != nil {
		return out
	}
	var reads struct {
		Reads [][3]float64 `json:"reads"` // ms, offset, bytes
	}
	if err := json.Unmarshal(b, &reads); err != nil {
		t.Fatal(err)
	}
	for _, r := range reads.Reads {
		from, n := int(r[1]), int(r[2])
		out.Pieces = append(out.Pieces, simserver.Piece{At: time.Duration(r[0] * 1e6), Bytes: raw[from : from+n]})
	}
	return out
}
