package plan

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"treeline/internal/sharedtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const two = `schema: treeline.plan/1
seed: 7
arms:
  - {name: a, method: none, treeline: {model: tiny.gguf}}
  - {name: b, method: ngram, treeline: {model: tiny.gguf, flags: [--threads=2]}}
`

func TestParseDefaults(t *testing.T) {
	p, err := Parse("dir/plan.yaml", []byte(two))
	if err != nil {
		t.Fatal(err)
	}
	model, _ := filepath.Abs("dir/tiny.gguf")
	want := Plan{
		Source: "dir/plan.yaml", Seed: 7, Margin: 0.02, Baseline: "a",
		Arms: []Arm{
			{Name: "a", Method: "none", Model: model, Server: "treeline", ReadyTimeout: 5 * time.Minute},
			{Name: "b", Method: "ngram", Model: model, Server: "treeline", Flags: []string{"--threads=2"}, ReadyTimeout: 5 * time.Minute},
		},
		Order:    [][]string{{"a", "b"}, {"b", "a"}, {"b", "a"}, {"a", "b"}},
		Prompts:  p.Prompts,
		Workload: Workload{MaxTokens: 64, Warmup: 2, Trials: 1, StallTimeout: 2 * time.Minute},
		Idle:     Idle{MaxForeign: 0.1, Wait: 10 * time.Second},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
	perCategory := map[string]int{}
	for _, prompt := range p.Prompts {
		perCategory[prompt.Category]++
	}
	if len(p.Prompts) != 8 || len(perCategory) != 8 {
		t.Errorf("got prompts per category %v, want one of each of 8", perCategory)
	}
	if p.Starts() != 8 || p.Requests() != 10 || !slices.Equal(p.Others(), []string{"b"}) || p.Arm("b").Method != "ngram" {
		t.Errorf("Starts %d, Requests %d, Others %v", p.Starts(), p.Requests(), p.Others())
	}
}

func TestParseEverything(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.txt"), []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := `schema: treeline.plan/1
name: all keys
blocks: 3
margin: 0.05
baseline: v
workload: {file: p.txt, prompts: 2, max_tokens: 9, temperature: 0.8, ignore_eos: true, warmup: 0, trials: 3, stall_timeout: 1s}
idle: {max_foreign: 1, wait: 0s}
arms:
  - {name: s, method: nextn, command: [sglang, --port, "{port}"], env: {B: "2", A: "1"}, server: sglang, request_model: m, ready_timeout: 10m, tuned: true}
  - {name: v, method: none, command: [vllm, serve], port: 30000}
`
	p, err := Parse(filepath.Join(dir, "plan.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := Plan{
		Name: "all keys", Source: filepath.Join(dir, "plan.yaml"), Seed: 1, Margin: 0.05, Baseline: "v",
		Arms: []Arm{
			{
				Name: "s", Method: "nextn", Command: []string{"sglang", "--port", "{port}"}, Env: []string{"A=1", "B=2"}, Server: "sglang",
				RequestModel: "m", ReadyTimeout: 10 * time.Minute, Tuned: true,
			},
			{Name: "v", Method: "none", Command: []string{"vllm", "serve"}, Port: 30000, ReadyTimeout: 5 * time.Minute},
		},
		Order:    [][]string{{"s", "v"}, {"v", "s"}, {"v", "s"}},
		Prompts:  p.Prompts,
		Workload: Workload{MaxTokens: 9, Temperature: 0.8, IgnoreEOS: true, Trials: 3, StallTimeout: time.Second},
		Idle:     Idle{MaxForeign: 1},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
	if len(p.Prompts) != 2 {
		t.Errorf("got %d prompts of the file, want 2", len(p.Prompts))
	}
}

// Each file in testdata/bad is a faulty plan; the golden file beside it holds what its author reads.
func TestParseErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no faulty plans: %v", err)
	}
	for _, file := range files {
		_, err := Load(file)
		if err == nil {
			t.Errorf("%s: got no error", file)
			continue
		}
		got := filepath.ToSlash(err.Error()) + "\n"
		golden := strings.TrimSuffix(file, ".yaml") + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: got %v", err)
	}
	big := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(big, []byte(strings.Repeat("# padding\n", maxFileBytes/10+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(big); err == nil || !strings.Contains(err.Error(), "is it a plan?") {
		t.Errorf("huge file: got %v", err)
	}
}

func TestPromptFileErrors(t *testing.T) {
	_, err := Parse("plan.yaml", []byte(strings.Replace(two, "seed: 7", "workload: {file: nowhere.jsonl}", 1)))
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "plan plan.yaml: read prompts") {
		t.Errorf("missing prompt file: got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(two))
	f.Add([]byte("arms: [{name: x}]\nblocks: three"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("---\n---\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Parse("plan.yaml", b)
		if err != nil {
			return
		}
		if len(p.Order) < 1 || len(p.Arms) < 2 || p.Starts() < 2 {
			t.Errorf("a plan without starts was accepted: %+v", p)
		}
	})
}

func TestOrder(t *testing.T) {
	tests := []struct {
		arms   string
		blocks int
		want   string
	}{
		{"AB", 1, "AB"},
		{"AB", 3, "AB BA BA"},
		{"AB", 8, "AB BA BA AB AB BA BA AB"},
	}
	for _, tt := range tests {
		if got := orderText(Order(strings.Split(tt.arms, ""), tt.blocks, 1)); got != tt.want {
			t.Errorf("%s x %d: got %s, want %s", tt.arms, tt.blocks, got, tt.want)
		}
	}
}

func orderText(order [][]string) string {
	rows := make([]string, len(order))
	for i, r := range order {
		rows[i] = strings.Join(r, "")
	}
	return strings.Join(rows, " ")
}

func TestOrderLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(2, 7).Draw(t, "arms")
		blocks := rapid.IntRange(1, 30).Draw(t, "blocks")
		seed := rapid.Uint64().Draw(t, "seed")
		var arms []string
		for i := range k {
			arms = append(arms, string(rune('A'+i)))
		}
		order := Order(arms, blocks, seed)
		if len(order) != blocks {
			t.Fatalf("%d rows for %d blocks", len(order), blocks)
		}
		if orderText(order) != orderText(Order(arms, blocks, seed)) {
			t.Fatal("the same seed gave another order")
		}
		for _, row := range order {
			if sorted := slices.Sorted(slices.Values(row)); !slices.Equal(sorted, arms) {
				t.Fatalf("block %v does not start every arm once", row)
			}
		}
		// Over every whole run of k blocks each arm stands once in each position.
		for run := 0; run+k <= blocks; run += k {
			for pos := range k {
				seen := map[string]bool{}
				for _, row := range order[run : run+k] {
					seen[row[pos]] = true
				}
				if len(seen) != k {
					t.Fatalf("run at block %d: position %d is held by %v only: %s", run+1, pos+1, slices.Sorted(maps.Keys(seen)), orderText(order))
				}
			}
		}
	})
}

// With an even number of arms (4 and up) every ordered pair of neighbours occurs once in a run: no arm always follows
// the same other.
func TestOrderNeighbours(t *testing.T) {
	for _, k := range []int{4, 6} {
		var arms []string
		for i := range k {
			arms = append(arms, fmt.Sprint(i))
		}
		pairs := map[string]int{}
		for _, row := range Order(arms, k, 3) {
			for i := 1; i < k; i++ {
				pairs[row[i-1]+">"+row[i]]++
			}
		}
		if len(pairs) != k*(k-1) {
			t.Errorf("%d arms: %d different neighbours, want %d", k, len(pairs), k*(k-1))
		}
	}
}

func TestLock(t *testing.T) {
	p, err := Parse("plan.yaml", []byte(two))
	if err != nil {
		t.Fatal(err)
	}
	text, hash, err := Lock(p, "v1")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, LockFile), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	if got, err := ReadLockHash(dir); err != nil || got != hash {
		t.Errorf("ReadLockHash: got %q, %v; want %q", got, err, hash)
	}
	write([]byte(strings.Replace(string(text), "seed: 7", "seed: 8", 1)))
	if _, err := ReadLockHash(dir); err == nil || !strings.Contains(err.Error(), "was edited") {
		t.Errorf("edited lock: got %v", err)
	}
	write([]byte("nothing"))
	if _, err := ReadLockHash(dir); err == nil || !strings.Contains(err.Error(), "no hash") {
		t.Errorf("foreign lock: got %v", err)
	}
	again, _, _ := Lock(p, "v1")
	if string(again) != string(text) {
		t.Error("the same plan was locked differently")
	}
	for name, change := range map[string]func(Plan) Plan{
		"seed":     func(p Plan) Plan { p.Seed++; return p },
		"tokens":   func(p Plan) Plan { p.Workload.MaxTokens++; return p },
		"order":    func(p Plan) Plan { p.Order = p.Order[1:]; return p },
		"a prompt": func(p Plan) Plan { p.Prompts = slices.Clone(p.Prompts); p.Prompts[0].Text += "."; return p },
	} {
		if _, other, _ := Lock(change(p), "v1"); other == hash {
			t.Errorf("another %s gave the same hash", name)
		}
	}
}

func TestInit(t *testing.T) {
	text, err := Init(InitOptions{Name: "try", Model: "/m/tiny \"1\".gguf", Arms: []string{"plain=NONE", "look=NGRAM", "third=GRAFT"}, Blocks: 5, Flags: []string{"--threads", "2"}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse("plan.yaml", []byte(text))
	if err != nil {
		t.Fatalf("the plan does not read back: %v", err)
	}
	if len(p.Order) != 5 || p.Baseline != "plain" || p.Name != "try" || p.Arm("look").Method != "ngram" ||
		p.Arm("third").Model != "/m/tiny \"1\".gguf" || !slices.Equal(p.Arm("plain").Flags, []string{"--threads", "2"}) {
		t.Errorf("got %+v", p)
	}
	tests := []struct {
		name string
		o    InitOptions
		want string
	}{
		{"no model", InitOptions{Arms: []string{"a=NONE"}}, "give --treeline MODEL"},
		{"no method", InitOptions{Model: "m", Arms: []string{"a"}}, "write NAME=METHOD"},
		{"one arm", InitOptions{Model: "m", Arms: []string{"a=NONE"}}, "at least two"},
		{"none", InitOptions{Model: "m"}, "at least two"},
		{"unknown method", InitOptions{Model: "m", Arms: []string{"a=NONE", "b=MAGIC"}}, `unknown method "magic"`},
		{"blocks", InitOptions{Model: "m", Arms: []string{"a=NONE", "b=NGRAM"}, Blocks: -1}, "blocks is -1"},
	}
	for _, tt := range tests {
		if _, err := Init(tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

// The plans in examples are teaching text: they must read, and say what they claim to.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(sharedtest.Root(t), "examples", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	starts := map[string]int{"simulated.yaml": 8, "prompt-lookup.yaml": 12, "sglang-three-arms.yaml": 18}
	for _, file := range files {
		p, err := Load(file)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if want := starts[filepath.Base(file)]; p.Starts() != want {
			t.Errorf("%s: %d starts, want %d", file, p.Starts(), want)
		}
	}
}
