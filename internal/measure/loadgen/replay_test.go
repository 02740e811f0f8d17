package loadgen

import (
	"bufio"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"treeline/internal/measure/record"
	"treeline/internal/sharedtest"
)

// replay serves the exact bytes of a recording over loopback TCP, cut as given, and returns what our client makes
// of them.
func replay(t *testing.T, pieces [][]byte) record.Request {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		req, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		io.Copy(io.Discard, req.Body)
		for _, p := range pieces {
			conn.Write(p)
			if len(pieces) < 1000 {
				time.Sleep(20 * time.Microsecond)
			}
		}
	}()
	c := NewClient(ClientOptions{Base: "http://" + l.Addr().String()})
	defer c.Close()
	var r record.Request
	c.Do(t.Context(), []byte(`{}`), &r).Fill(&r)
	return r
}

// cuts gives the recording's own read boundaries, all at once, and (short ones) single bytes.
func cuts(t *testing.T, raw []byte, readsFile string) map[string][][]byte {
	out := map[string][][]byte{"whole": {raw}}
	if b, err := os.ReadFile(readsFile); err == nil {
		var reads struct {
			Reads [][3]float64 `json:"reads"`
		}
		if err := json.Unmarshal(b, &reads); err != nil {
			t.Fatal(err)
		}
		var pieces [][]byte
		for _, r := range reads.Reads {
			at, n := int(r[1]), int(r[2])
			pieces = append(pieces, raw[at:at+n])
		}
		out["as read"] = pieces
	}
	if len(raw) < 12<<10 {
		var single [][]byte
		for i := range raw {
			single = append(single, raw[i:i+1])
		}
		out["single bytes"] = single
	}
	return out
}

// digest is what the recorder itself found in a stream, by other code in another language.
type digest struct {
	Status  int      `json:"status"`
	Content int      `json:"content_events"`
	Finish  []string `json:"finish"`
	SHA     string   `json:"text_sha"`
	Done    bool     `json:"done_marker"`
	Usage   *struct {
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
}

func TestRecordings(t *testing.T) {
	root := filepath.Join(sharedtest.Dir(t), "recordings")
	folders, err := filepath.Glob(filepath.Join(root, "*"))
	if err != nil {
		t.Fatal(err)
	}
	streams := 0
	for _, folder := range folders {
		var summary struct {
			Stream map[string]digest `json:"stream"`
		}
		if b, err := os.ReadFile(filepath.Join(folder, "summary.json")); err == nil {
			if err := json.Unmarshal(b, &summary); err != nil {
				t.Fatal(err)
			}
		}
		raws, _ := filepath.Glob(filepath.Join(folder, "stream_*.raw"))
		for _, path := range raws {
			name := strings.TrimSuffix(filepath.Base(path), ".raw")
			want, ok := summary.Stream[name]
			if !ok {
				t.Errorf("%s: no digest in summary.json", path)
				continue
			}
			streams++
			t.Run(filepath.Base(folder)+"/"+name, func(t *testing.T) { checkRecording(t, path, want) })
		}
	}
	if streams < 60 {
		t.Errorf("replayed %d streams, the recordings hold more", streams)
	}
}

func checkRecording(t *testing.T, path string, want digest) {
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut, pieces := range cuts(t, raw, strings.TrimSuffix(path, ".raw")+".reads.json") {
		r := replay(t, pieces)
		if r.Status != want.Status {
			t.Errorf("%s: status %d, want %d", cut, r.Status, want.Status)
		}
		if want.Status != http.StatusOK {
			if r.OK || r.ErrorClass != record.ClassHTTP4xx {
				t.Errorf("%s: ok %v, class %q; want http_4xx", cut, r.OK, r.ErrorClass)
			}
			continue
		}
		if !r.OK {
			t.Errorf("%s: failed as %s: %s", cut, r.ErrorClass, r.Error)
		}
		n2 := strings.Contains(path, "stream_n2")
		if want.Usage != nil && !n2 {
			if n, ok := r.OutputTokens(); !ok || n != want.Usage.Completion {
				t.Errorf("%s: %d tokens (known %v), want %d", cut, n, ok, want.Usage.Completion)
			}
		}
		if n2 && !strings.Contains(path, "transformers") && r.Usage.CompletionTokens != 32 {
			t.Errorf("%s: %d tokens over two choices, want 32", cut, r.Usage.CompletionTokens)
		}
		native := strings.Contains(path, "native") // the recorder did not read text of this form
		if want.SHA != "" && !n2 && !native {
			sum := sha1.Sum([]byte(r.Text))
			if got := hex.EncodeToString(sum[:])[:len(want.SHA)]; got != want.SHA {
				t.Errorf("%s: text sha %s, want %s; text %q", cut, got, want.SHA, r.Text)
			}
		}
		events := 0
		for _, e := range r.Events {
			if e.Kind.Generates() && e.Kind != record.EventTokens {
				events++
			}
		}
		if want.Content > 0 && events != want.Content && !n2 {
			t.Errorf("%s: %d events with text, want %d", cut, events, want.Content)
		}
		if len(want.Finish) > 0 && r.Finish != want.Finish[0] {
			t.Errorf("%s: finish %q, want %q", cut, r.Finish, want.Finish[0])
		}
	}
}

// The committed recordings: one of each server, and an engine that dies.
func TestCommittedRecordings(t *testing.T) {
	tests := []struct {
		file   string
		ok     bool
		class  string
		tokens int
		finish string
	}{
		{"llamacpp_ngram", true, "", 128, "length"},
		{"vllm_ngram_token_ids", true, "", 128, "length"},
		{"sglang_stop", true, "", 107, "stop"},
		{"transformers", true, "", 128, "length"},
		{"vllm_dies", false, record.ClassStream, 0, ""},
		{"llamacpp_prompt_over_context", false, record.ClassHTTP4xx, 0, ""},
	}
	for _, tt := range tests {
		raw, err := os.ReadFile(filepath.Join("testdata", tt.file+".raw"))
		if err != nil {
			t.Fatal(err)
		}
		for cut, pieces := range cuts(t, raw, filepath.Join("testdata", tt.file+".reads.json")) {
			r := replay(t, pieces)
			n, _ := r.OutputTokens()
			if r.OK != tt.ok || r.ErrorClass != tt.class || n != tt.tokens || r.Finish != tt.finish {
				t.Errorf("%s, %s: ok %v, class %q (%s), %d tokens, finish %q; want %v, %q, %d, %q",
					tt.file, cut, r.OK, r.ErrorClass, r.Error, n, r.Finish, tt.ok, tt.class, tt.tokens, tt.finish)
			}
			known := 0
			for _, a := range r.Arrivals() {
				known += a.Tokens
			}
			if tt.file == "vllm_ngram_token_ids" && known != 128 {
				t.Errorf("%s, %s: arrivals hold %d tokens, want all 128 by their ids", tt.file, cut, known)
			}
		}
	}
}
