package loadgen_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"treeline/internal/measure/simserver"
	"treeline/internal/sharedtest"
)

// TestCasesRecordings plays every recorded stream of the real servers in the three ways: at the times of its reads, at
// once, and byte by byte. The events are the same in all, and at 1x each has the stamp that follows from the reads, to the
// nanosecond. Streams whose times were not recorded are played in the other two ways.
func TestCasesRecordings(t *testing.T) {
	var raws []string
	dir := os.DirFS(filepath.Join(sharedtest.Dir(t), "recordings"))
	for _, pattern := range []string{"*/*.raw", "*/errors/*.raw"} {
		found, err := fs.Glob(dir, pattern)
		if err != nil {
			t.Fatal(err)
		}
		raws = append(raws, found...)
	}
	if len(raws) < 84 {
		t.Fatalf("%d recorded streams, there were 84", len(raws))
	}
	timed := 0
	for _, name := range raws {
		path := filepath.Join(sharedtest.Dir(t), "recordings", name)
		t.Run(strings.TrimSuffix(name, ".raw"), func(t *testing.T) {
			script := recordedScript(t, path)
			var want []time.Duration
			if len(script.Pieces) > 0 {
				want = eventTimes(t, script)
				timed += len(want)
			} else {
				raw, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				script.Pieces = []simserver.Piece{{Bytes: raw}}
			}
			whole := playCase(t, script, simserver.AsWritten, 0)
			var got []time.Duration
			for _, e := range whole.Events {
				got = append(got, time.Duration(e.At-whole.Wrote))
			}
			if diff := cmp.Diff(want, got); want != nil && diff != "" {
				t.Errorf("times of the events (-read +stamp):\n%s", diff)
			}
			for _, how := range []string{simserver.AtOnce, simserver.ByteWise} {
				got := playCase(t, script, how, 0)
				if diff := cmp.Diff(eventList(whole), eventList(got)); diff != "" {
					t.Errorf("events differ (-1x +%s):\n%s", how, diff)
				}
				if got.OK != whole.OK || got.ErrorClass != whole.ErrorClass {
					t.Errorf("%s: ok %v, class %q; at 1x %v, %q", how, got.OK, got.ErrorClass, whole.OK, whole.ErrorClass)
				}
			}
		})
	}
	if timed < 3928 {
		t.Errorf("the times of %d events were compared, there were 3928", timed)
	}
}

// eventTimes tells when each event of a transcript was complete, by other means than the client's: the bytes are put
// together, head and chunk framing taken away, and the rest is split at empty lines.
func eventTimes(t *testing.T, s simserver.Transcript) (out []time.Duration) {
	var raw []byte
	for _, p := range s.Pieces {
		raw = append(raw, p.Bytes...)
	}
	from := bytes.Index(raw, []byte("\r\n\r\n")) + 4
	head := strings.ToLower(string(raw[:from]))
	if !strings.Contains(head, "text/event-stream") {
		return nil
	}
	chunks, waits := [][2]int{{from, len(raw)}}, [][2]int(nil)
	if strings.Contains(head, "transfer-encoding: chunked") {
		chunks, waits = httpChunks(t, raw, from)
	}
	at := released(s, waits)
	var body []byte
	var when []time.Duration
	for _, c := range chunks {
		body, when = append(body, raw[c[0]:c[1]]...), append(when, at[c[0]:c[1]]...)
	}
	for len(body) > 0 {
		end := bytes.Index(body, []byte("\n\n")) + 1
		if crlf := bytes.Index(body, []byte("\n\r\n")) + 1; crlf > 0 && (end == 0 || crlf < end) {
			end = crlf
		}
		if end == 0 {
			break
		}
		if strings.Contains("\n"+string(body[:end]), "\ndata:") {
			out = append(out, when[end])
		}
		rest := end + 1
		if body[end] == '\r' {
			rest++
		}
		body, when = body[rest:], when[rest:]
	}
	return out
}

// httpChunks are where the data of the chunks of a body are that begins at from, and between which bytes a read must not
// end to hand on what it brought: inside the data, and inside the trailer.
func httpChunks(t *testing.T, raw []byte, from int) (data, waits [][2]int) {
	for from < len(raw) {
		line := bytes.Index(raw[from:], []byte("\r\n"))
		size, err := strconv.ParseInt(string(raw[from:from+line]), 16, 32)
		if err != nil {
			t.Fatalf("chunk at %d: %v", from, err)
		}
		from += line + 2
		if size == 0 {
			return data, append(slices.Clone(data), [2]int{from, len(raw)})
		}
		data = append(data, [2]int{from, from + int(size)})
		from += int(size) + 2
	}
	return data, data
}

// released is when net/http hands each byte on: when its read returns, except that a read which ends inside an HTTP
// chunk, or inside the trailer, waits for the rest (case R6c).
func released(s simserver.Transcript, waits [][2]int) (at []time.Duration) {
	ends := make([]int, len(s.Pieces))
	n := 0
	for i, p := range s.Pieces {
		n += len(p.Bytes)
		ends[i] = n
	}
	at = make([]time.Duration, n)
	var next time.Duration
	for i := len(s.Pieces) - 1; i >= 0; i-- {
		inside := slices.ContainsFunc(waits, func(c [2]int) bool { return c[0] <= ends[i] && ends[i] < c[1] })
		if !inside || i == len(s.Pieces)-1 {
			next = s.Pieces[i].At
		}
		for b := ends[i] - len(s.Pieces[i].Bytes); b < ends[i]; b++ {
			at[b] = next
		}
	}
	return at
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
