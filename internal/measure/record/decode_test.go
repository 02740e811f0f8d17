package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"treeline/internal/sharedtest"
)

// plain and the chunks below are of the usual form: they must not need encoding/json.
const plain = `{"id":"chatcmpl-b07eef1504effc06","object":"chat.completion.chunk","created":1796098538,"model":"SmolLM2-135M-Instruct",` +
	`"choices":[{"index":0,"delta":{"content":"python"},"logprobs":null,"finish_reason":null,"token_ids":null}]}`

func usualChunks() []string {
	return []string{
		plain,
		`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`,
		`{ "choices" : [ { "index" : 0 , "delta" : { "content" : " a" } } ] }` + "\n",
		`{"choices":[{"index":1,"delta":{"content":"\n\t\"\\\/\b\f\r é 😀 \u00e9\ud83d\ude00"},"finish_reason":"stop","stop_reason":null}]}`,
		`{"choices":[{"delta":{"reasoning_content":"a","reasoning":"a","tool_calls":null,"refusal":null}},{"index":1,"delta":{"content":"b"}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":"}}]}}]}`,
		`{"choices":[{"index":0,"text":" x","logprobs":{"content":[{"token":"x","logprob":-0.25e-3,"bytes":[1,2],"Top":[]}]},"token_ids":[1,-2,151643]}]}`,
		`{"choices":[],"usage":{"prompt_tokens":9,"total_tokens":19,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":null}}`,
		`{"choices":[{"delta":{}}],"timings":{"cache_n":0,"prompt_ms":1.5,"predicted_n":3},"usage":null}`,
		`{"index":0,"content":" x","tokens":[7],"stop":true,"id_slot":-1,"timings":null}`,
		`{"object":"error","message":"boom","code":400}`, `{"error":{"message":"boom"}}`, `{"detail":"Not Found"}`, `{}`,
	}
}

// rareChunks are left to encoding/json, or are no JSON.
func rareChunks() []string {
	return []string{
		`{"choices":[{"delta":{"content":"a"}}],"choices":[{"delta":{"role":"b"}}]}`,
		`{"choices":[{"delta":{"content":"a","content":null}}]}`, `{"model":"a","model":"b"}`, `{"usage":{"total_tokens":1,"total_tokens":2}}`,
		`{"Choices":[{"DELTA":{"Content":"a"}}]}`, "{\"choices\":[{\"to\u212aen_ids\":[1]}]}", `{"\u0063hoices":[]}`,
		`{"choices":[{"index":"0","delta":{"content":5,"role":"a"}},null,3]}`, `{"choices":{"a":1},"model":[1]}`, `{"object":3,"stop":1}`,
		`{"choices":[{"index":1.0}]}`, `{"choices":[{"index":12345678901234567890}]}`, `{"choices":[{"token_ids":[3000000000,1e2]}]}`,
		`{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, `{"x":` + strings.Repeat(`{"a":`, 10001) + "1" + strings.Repeat("}", 10001) + `}`,
		`{"model":"\ud83d"}`, `{"model":"\ud83dx\ude00"}`, "{\"model\":\"\xff\xf0\x9f\"}", `{"model":"\u12g4"}`, `{"model":"\x"}`, "{\"model\":\"a\nb\"}",
		`{"x":01}`, `{"x":-}`, `{"x":1.}`, `{"x":1e}`, `{"x":+1}`, `{"x":1}}`, `{"x":tru}`, `{"x":nullx}`, `{"x":1,}`, `{"x":[1,]}`, `{,}`, `{"x"}`, `{"x":1 "y":2}`,
		`[]`, `null`, `"a"`, `1`, "", " ", "{", `{"choices":[{"delta":{"content":"cut o`, "\xef\xbb\xbf{}", "{}\x00", `{"timings":{"cache_n":"x","prompt_n":2}}`,
	}
}

// checkChunk compares a chunk with what encoding/json makes of it. The decoder has seen another one before.
func checkChunk(t interface{ Fatalf(string, ...any) }, b []byte) (usual bool) {
	var d decoder
	if _, err := d.decode([]byte(`{"object":"o","model":"m","choices":[{"index":7,"text":"t","finish_reason":"f","delta":{"role":"r","content":"c"}},{}]}`)); err != nil {
		t.Fatalf("first chunk: %v", err)
	}
	got, usual := d.usual(b)
	if !usual {
		return false
	}
	want, err := anyChunk(b)
	if err != nil {
		t.Fatalf("%q: accepted, encoding/json says %v", b, err)
	}
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("%q (-encoding/json +got):\n%s", b, cmp.Diff(want, got))
	}
	return true
}

func TestChunkEqualsEncodingJSON(t *testing.T) {
	for _, s := range usualChunks() {
		if !checkChunk(t, []byte(s)) {
			t.Errorf("left to encoding/json: %s", s)
		}
	}
	for _, s := range rareChunks() {
		checkChunk(t, []byte(s))
	}
}

// Every event and every body of the recorded servers decodes as encoding/json does it, and the events without its help.
func TestChunkOfRecordings(t *testing.T) {
	dir := filepath.Join(sharedtest.Dir(t), "recordings")
	events := 0
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		checkChunk(t, b)
		for line := range bytes.Lines(b) {
			line, isData := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: {"))
			chunk := line
			if isData {
				chunk = append([]byte("{"), line...)
			}
			usual := checkChunk(t, chunk)
			if _, err := anyChunk(chunk); isData && err == nil {
				events++
				if !usual {
					t.Errorf("%s: left to encoding/json: %s", path, chunk)
				}
			}
		}
		return nil
	})
	if err != nil || events < 1000 {
		t.Fatalf("%d events, error %v", events, err)
	}
	t.Logf("%d events", events)
}

// TestChunkLaw draws objects of known and unknown names with values of right and wrong types.
func TestChunkLaw(t *testing.T) {
	usual := 0
	rapid.Check(t, func(t *rapid.T) {
		if checkChunk(t, []byte(drawObject(t, 0))) {
			usual++
		}
	})
	if usual == 0 {
		t.Error("no drawn chunk was of the usual form")
	}
}

func drawObject(t *rapid.T, depth int) string {
	names := rapid.SliceOfN(rapid.SampledFrom([]string{
		"choices", "delta", "message", "content", "text", "index", "finish_reason", "token_ids", "tokens", "usage", "total_tokens",
		"completion_tokens_details", "timings", "prompt_ms", "object", "model", "error", "stop", "role", "reasoning", "tool_calls", "function", "x", "Role", "é",
	}), 0, 6).Draw(t, "names")
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%q:%s", name, drawValue(t, name, depth)))
	}
	return "{" + strings.Join(parts, rapid.SampledFrom([]string{",", ", "}).Draw(t, "comma")) + "}"
}

func drawValue(t *rapid.T, name string, depth int) string {
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	switch {
	case kind == 0:
		return "null"
	case kind == 1 || depth > 4: // often of the wrong type
		return rapid.SampledFrom([]string{"0", "-1", "1.5e3", "123456789012", "true", `"a"`, `"\n\ud83d\ude00\ud83d"`, "\"\xff\"", "[]", "{}", "[1,[2]]", "[null]"}).Draw(t, "value")
	}
	switch name {
	case "choices", "tool_calls":
		return "[" + drawObject(t, depth+1) + "]"
	case "delta", "message", "usage", "completion_tokens_details", "timings", "error", "function":
		return drawObject(t, depth+1)
	case "index", "total_tokens", "prompt_ms":
		return rapid.SampledFrom([]string{"0", "7", "-3", "999999999", "1000000000"}).Draw(t, "number")
	case "token_ids", "tokens":
		return "[1,2]"
	}
	return fmt.Sprintf("%q", rapid.StringOf(rapid.RuneFrom([]rune("ab\n\"\\é😀"))).Draw(t, "text"))
}

func FuzzChunk(f *testing.F) {
	for _, s := range append(usualChunks(), rareChunks()...) {
		if len(s) < 1000 {
			f.Add([]byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkChunk(t, b) })
}

// An index that no server means makes no other choices: it is taken for the first.
func TestChoiceIndexIsBounded(t *testing.T) {
	for _, index := range []string{"2000000000", "-1", "1000"} {
		_, r := fill(script("@1 " + data(`{"choices":[{"index":`+index+`,"text":"x","finish_reason":"stop"}]}`)))
		if !r.OK || r.Text != "x" || len(r.Others) != 0 {
			t.Errorf("index %s: ok %v, text %q, %d others", index, r.OK, r.Text, len(r.Others))
		}
	}
}

// The text of a chunk is all that is allocated for it.
func TestChunkAllocations(t *testing.T) {
	var d decoder
	b := []byte(plain)
	if got := testing.AllocsPerRun(100, func() { d.decode(b) }); got > 1 {
		t.Errorf("%v allocations a chunk, want at most 1", got)
	}
}

func BenchmarkChunk(b *testing.B) {
	texts := strings.Replace(plain, "python", `\n中文 \"x\"`, 1)
	usage := strings.Replace(plain, `"choices"`, `"usage":{"prompt_tokens":9,"total_tokens":19,"completion_tokens":10},"choices"`, 1)
	tools := strings.Replace(plain, `"content":"python"`, `"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]`, 1)
	for _, bb := range []struct{ name, chunk string }{{"plain", plain}, {"escapes", texts}, {"usage", usage}, {"tools", tools}} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.chunk)))
			b.ReportAllocs()
			var d decoder
			chunk := []byte(bb.chunk)
			for b.Loop() {
				if _, err := d.decode(chunk); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
