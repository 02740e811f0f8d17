package tokenizer

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"treeline/internal/infer/gguf"
	"treeline/internal/sharedtest"
)

// row is one case of the reference tokenizers.
type row struct {
	Kind, Cat, Text string
	IDs             []int32
	Decoded         *string
	Pieces          []string
}

func gunzip(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readRows(t *testing.T, name string) []row {
	t.Helper()
	b := gunzip(t, filepath.Join(sharedtest.Dir(t), "fixtures", "tokenizers", name+".jsonl.gz"))
	var rows []row
	scan := bufio.NewScanner(strings.NewReader(string(b)))
	scan.Buffer(nil, 16<<20)
	for scan.Scan() {
		var r row
		if err := json.Unmarshal(scan.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// checkRows wants every row of a reference exactly.
func checkRows(t *testing.T, tok *Tokenizer, rows []row) {
	t.Helper()
	count, wrong := map[string]int{}, 0
	for _, r := range rows {
		ok := true
		if r.Kind == "text" {
			if got := tok.Encode(r.Text, true); !slices.Equal(got, r.IDs) {
				t.Errorf("%s %.60q: got %v, want %v", r.Cat, r.Text, head(got), head(r.IDs))
				ok = false
			}
		}
		if r.Kind == "text" || r.Kind == "ids" {
			want := r.Text
			if r.Decoded != nil {
				want = *r.Decoded
			}
			if got := tok.Decode(r.IDs, false); got != want {
				t.Errorf("decode %s %v: got %.80q, want %.80q", r.Cat, head(r.IDs), got, want)
				ok = false
			}
		}
		if r.Pieces != nil {
			if got := stream(tok, r.IDs, false); !slices.Equal(got, r.Pieces) {
				t.Errorf("stream %s %v: got %.80q, want %.80q", r.Cat, head(r.IDs), got, r.Pieces)
				ok = false
			}
		}
		count[r.Kind]++
		if !ok {
			wrong++
		}
	}
	t.Logf("%d texts and %d id sequences, %d of them wrong", count["text"], count["ids"], wrong)
}

func head(ids []int32) []int32 { return ids[:min(len(ids), 24)] }

// stream is what a stream gives for every id, and for the end.
func stream(tok *Tokenizer, ids []int32, skip bool) []string {
	s := tok.NewStream(skip)
	var out []string
	for _, id := range ids {
		out = append(out, s.Push(id))
	}
	return append(out, s.Flush())
}

func TestSmolLM2JSON(t *testing.T) {
	tok, err := FromJSON(gunzip(t, filepath.Join(sharedtest.Dir(t), "fixtures", "tokenizers", "smollm2.tokenizer.json.gz")))
	if err != nil {
		t.Fatal(err)
	}
	checkRows(t, tok, readRows(t, "smollm2"))
}

func TestSmolLM2GGUF(t *testing.T) {
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(cache, "treeline", "models", "SmolLM2-135M-Instruct.Q4_1.gguf")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no pulled model: %v", err)
	}
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := FromGGUF(f)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	checkRows(t, tok, readRows(t, "smollm2"))
	if got := tok.EOS(); !slices.Equal(got, []int32{2, 0}) {
		t.Errorf("end tokens are %v, want <|im_end|> 2 and <|endoftext|> 0", got)
	}
	if bos, ok := tok.BOS(); bos != 1 || !ok || tok.AddBOS() || tok.Vocab() != 49152 {
		t.Errorf("bos %d %v, add %v, vocabulary %d", bos, ok, tok.AddBOS(), tok.Vocab())
	}
}

// TestLarge checks vocabularies that are too large to keep with the tests: set TREELINE_TOKENIZERS to a folder with
// qwen3.tokenizer.json and llama3.tokenizer.json.
func TestLarge(t *testing.T) {
	dir := os.Getenv("TREELINE_TOKENIZERS")
	if dir == "" {
		t.Skip("TREELINE_TOKENIZERS names no folder with qwen3.tokenizer.json and llama3.tokenizer.json")
	}
	for _, name := range []string{"qwen3", "llama3"} {
		b, err := os.ReadFile(filepath.Join(dir, name+".tokenizer.json"))
		if err != nil {
			t.Errorf("read tokenizer: %v", err)
			continue
		}
		tok, err := FromJSON(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkRows(t, tok, readRows(t, name))
	}
}
