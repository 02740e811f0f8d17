package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treeline/internal/sharedtest"
	"treeline/internal/wire/sse"
)

// Where the fast way reports a result it is the slow way's.
func FuzzChunk(f *testing.F) {
	for _, s := range chunkSeeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { sameChunk(t, b) })
}

func sameChunk(t *testing.T, b []byte) (fast bool) {
	t.Helper()
	got, fast := fastChunk(b, "m")
	if !fast {
		return false
	}
	want, err := decodeAnyChunk(b)
	if err != nil {
		t.Fatalf("%q: the fast way takes it, the slow way says %v", b, err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(chunk{}, choice{}, delta{})); diff != "" {
		t.Fatalf("%q (-slow +fast):\n%s", b, diff)
	}
	return true
}

func chunkSeeds() []string {
	return []string{
		`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null,"logprobs":null}],"usage":null}`,
		`{"choices":[{"index":1,"delta":{"role":"assistant","content":"a\n\u00e9\ud83d\ude00é"},"finish_reason":"stop","token_ids":[1,2,33]}],"usage":{"prompt_tokens":9,"completion_tokens":10,"total_tokens":19,"prompt_tokens_details":null}}`,
		`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":10,"total_tokens":19}}`, `{"choices":null}`, `{"choices":[{"text":"x","index":0}],"x":[{"y":[1.5e3,-2,true,"\""]}]}`,
		`{"choices":[{"delta":{"reasoning_content":"r","reasoning":null}}]}`, `{"choices":[{"delta":{"content":"a","content":"b"}}]}`, `{"Choices":[{"delta":{"content":"a"}}]}`,
		`{"choices":[{"index":"0","delta":{"content":5}}]}`, `{"choices":[{"index":-1}]}`, `{"choices":[{"index":1.0}]}`, `{"choices":[{"index":01}]}`, `{"error":{"message":"x"}}`, `{"model":"n"} x`, "{\"model\":\"a\tb\"}", "{\"model\":\"\xff\"}", `{"a":"\q"}`, `{"a":nul}`, `{"a":1,}`, `{`, `[]`, ``, ` {"choices" : [ { "index" : 0 } , {"index":1} ] } `,
	}
}

func TestFastChunk(t *testing.T) {
	taken := 0
	for _, s := range chunkSeeds() {
		if sameChunk(t, []byte(s)) {
			taken++
		}
	}
	if taken < 6 {
		t.Errorf("the fast way took %d of the seeds, want the usual ones", taken)
	}
}

// Every chunk of every recording decodes alike both ways, and nearly all go the fast one.
func TestFastChunkOnRecordings(t *testing.T) {
	raws, err := filepath.Glob(filepath.Join(sharedtest.Dir(t), "recordings", "*", "stream_*.raw"))
	if err != nil || len(raws) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	all, fast := 0, 0
	for _, path := range raws {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var p sse.Parser
		p.Feed(b, 0, 0, func(e sse.Event) { // chunk framing lines are noise to the parser, and between events
			if bytes.HasPrefix(e.Data, []byte("{")) {
				all++
				if sameChunk(t, e.Data) {
					fast++
				}
			}
		})
	}
	t.Logf("%d of %d chunks went the fast way", fast, all)
	if all < 1000 || fast < all/2 {
		t.Errorf("%d of %d chunks went the fast way", fast, all)
	}
}
