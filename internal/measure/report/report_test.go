package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/perf/benchfmt"

	"treeline/internal/host"
	"treeline/internal/measure/record"
	"treeline/internal/measure/verdict"
	"treeline/internal/measure/workload"
)

var update = flag.Bool("update", false, "rewrite the files under testdata")

// sample is an experiment with made-up speeds, so that every part of the page has something to show.
func sample(t *testing.T) verdict.Result {
	t.Helper()
	rng := rand.New(rand.NewPCG(11, 4))
	gains := map[string]float64{workload.Code: 1.5, workload.Rewriting: 2.1, workload.Extraction: 1.7, workload.Chat: 0.96}
	prompts := workload.Sample(workload.BuiltIn(), 16, 1)
	machine := host.Fingerprint{Machine: "4f1d2c", OS: "linux", Kernel: "6.1", CPU: "Example CPU <2 GHz>", Cores: 2, ISA: []string{"avx2", "avx512vnni"}, MemoryMB: 7900}
	var starts []record.Start
	for block := range 4 {
		for place := range 2 {
			arm := []string{"none", "ngram"}[(block+place)%2]
			s := record.Start{Arm: arm, Block: block + 1, Order: 2*block + place + 1, URL: "http://127.0.0.1:8000", ServerStart: fmt.Sprint(block, place), Fingerprint: machine}
			s.Target = record.Target{
				Kind: "treeline", Version: "0.1", Model: "SmolLM2-135M-Instruct.Q4_1", Method: arm, ProofLevel: 2,
				Evidence: []string{"verify passes rose from 0 to 412 with 412 rounds"},
			}
			if arm == "ngram" {
				tau := 1.55 + 0.01*float64(block)
				s.Tau = &tau
				s.Target.Evidence = []string{"accepted tokens rose from 0 to 1630", "server info names NGRAM with 4 draft tokens"}
			}
			luck := 0.03 * rng.NormFloat64()
			for i, p := range prompts {
				speed := 1.0
				if arm == "ngram" {
					speed = 1.12
					if gain, ok := gains[p.Category]; ok {
						speed = gain
					}
				}
				s.Prompts = append(s.Prompts, record.PromptValue{
					Prompt: p.ID, Category: p.Category, Tokens: 128, Text: fmt.Sprintf("answer %d", i),
					TPOTms: 21 / speed * math.Exp(luck+0.01*rng.NormFloat64()),
				})
			}
			starts = append(starts, s)
		}
	}
	starts[2].Warnings = []record.Warning{{Code: "first_event_size_unknown", Text: "the stream does not say how many tokens its first event holds"}}
	r, err := verdict.Compare(starts, verdict.Options{Baseline: "none"})
	if err != nil {
		t.Fatal(err)
	}
	r.Report = "run/report.html"
	return r
}

// load reads testdata/sample.json, which -update makes from sample: goldens must not depend on the last bit of a sum.
func load(t *testing.T) verdict.Result {
	t.Helper()
	path := filepath.Join("testdata", "sample.json")
	if *update {
		var b bytes.Buffer
		if err := JSON(&b, sample(t)); err != nil {
			t.Fatal(err)
		}
		write(t, path, b.Bytes())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r verdict.Result
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func render(t *testing.T, r verdict.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r, Options{Made: "1 December 2026", Text: "16 prompts, 128 tokens each, temperature 0."}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		write(t, path, []byte(got))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s differs; look at it and run with -update if it is right:\n%s", path, d)
	}
}

func TestGolden(t *testing.T) {
	r := load(t)
	golden(t, "sample.html", render(t, r))
	for name, show := range map[string]func(io.Writer, verdict.Result) error{"sample.txt": Terminal, "sample.md": Markdown, "sample.csv": CSV, "sample.bench": Benchstat} {
		var b bytes.Buffer
		if err := show(&b, r); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
	}
}

var (
	cellPattern = regexp.MustCompile(`data-key="([^"]*)" (?:data-)?value="([^"]*)"[^>]*>([^<]*)<`)
	nonePattern = regexp.MustCompile(`class="none" data-key="([^"]*)"`)
	textPattern = regexp.MustCompile(`data-text="([^"]*)">([^<]*)<`)
	jsonPattern = regexp.MustCompile(`(?s)<script type="application/json" id="result">(.*?)</script>`)
)

// Every figure on the page, and every sentence, is the one of the JSON; and the embedded JSON is that of --json.
func TestPageEqualsJSON(t *testing.T) {
	probes := probeResult(t)
	for name, r := range map[string]verdict.Result{"experiment": load(t), "probes": probes} {
		t.Run(name, func(t *testing.T) {
			page := render(t, r)
			var b bytes.Buffer
			if err := JSON(&b, r); err != nil {
				t.Fatal(err)
			}
			var want, embedded any
			if err := json.Unmarshal(b.Bytes(), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(jsonPattern.FindStringSubmatch(page)[1]), &embedded); err != nil {
				t.Fatalf("embedded JSON: %v", err)
			}
			if d := cmp.Diff(want, embedded); d != "" {
				t.Errorf("embedded JSON differs from --json: %s", d)
			}
			f := figures{want}
			cells := cellPattern.FindAllStringSubmatch(page, -1)
			if len(cells) < 8 {
				t.Fatalf("only %d figures found", len(cells))
			}
			for _, m := range cells {
				inJSON, ok := f.lookup(m[1]).(float64)
				shown, err := strconv.ParseFloat(m[2], 64)
				if !ok || err != nil || shown != inJSON {
					t.Errorf("%s: page %s, JSON %v", m[1], m[2], f.lookup(m[1]))
				}
				checkRounding(t, m[1], html.UnescapeString(m[3]), inJSON)
			}
			for _, m := range nonePattern.FindAllStringSubmatch(page, -1) {
				if v := f.lookup(m[1]); v != nil {
					t.Errorf("%s: page shows none, JSON has %v", m[1], v)
				}
			}
			sentences := textPattern.FindAllStringSubmatch(page, -1)
			if len(sentences) < len(r.Comparisons)+len(r.Lossless) {
				t.Errorf("%d sentences for %d comparisons", len(sentences), len(r.Comparisons))
			}
			for _, m := range sentences {
				if got := html.UnescapeString(m[2]); got != f.lookup(m[1]) {
					t.Errorf("%s: page %q, JSON %q", m[1], got, f.lookup(m[1]))
				}
			}
		})
	}
}

// checkRounding compares what is read with the value behind it, to half a unit of the last digit shown.
func checkRounding(t *testing.T, key, shown string, value float64) {
	t.Helper()
	number := strings.Trim(shown, " x%<")
	if number == "" {
		return // a dot of a plot
	}
	read, err := strconv.ParseFloat(number, 64)
	if err != nil {
		t.Errorf("%s shows %q, which is no number", key, shown)
		return
	}
	_, decimals, _ := strings.Cut(number, ".")
	unit := math.Pow10(-len(decimals))
	switch {
	case strings.HasPrefix(shown, "<"):
		if value >= read {
			t.Errorf("%s shows %q for %v", key, shown, value)
		}
		return
	case strings.HasSuffix(shown, "%") && strings.HasSuffix(key, "mde"):
		value = 100 * (value - 1)
	case strings.HasSuffix(shown, "%"):
		value *= 100
	}
	if math.Abs(read-value) > unit/2*1.0001 {
		t.Errorf("%s shows %q for %v", key, shown, value)
	}
}

// Nothing on the page may reach for the network or run.
func TestSelfContained(t *testing.T) {
	page := render(t, load(t))
	for _, bad := range []string{"http://", "https://", "//cdn", "@import", "url(", "src=", "<link", "<iframe", "onclick"} {
		body := jsonPattern.ReplaceAllString(page, "")
		if strings.Contains(body, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d script elements, want only the JSON", n)
	}
	if len(page) > 120_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
}

// Names come from files and servers, so they are not to be trusted.
func TestEscaping(t *testing.T) {
	r := load(t)
	evil := `<script>alert(1)</script>"'&`
	r.Arms[1].Name, r.Comparisons[0].Arm, r.Comparisons[0].Sentence = evil, evil, evil
	r.Arms[0].Evidence = []string{evil}
	r.Warnings = []record.Warning{{Code: evil, Text: "</script><img>"}}
	page := render(t, r)
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img>") {
		t.Error("a name got into the page as markup")
	}
}

// The benchmark text must be what golang.org/x/perf reads.
func TestBenchstatParses(t *testing.T) {
	var b bytes.Buffer
	if err := Benchstat(&b, load(t)); err != nil {
		t.Fatal(err)
	}
	reader := benchfmt.NewReader(&b, "test")
	n := 0
	for reader.Scan() {
		result, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			t.Fatalf("not a result: %v", reader.Result())
		}
		if v, ok := result.Value("tok/s"); !ok || v < 40 || v > 70 {
			t.Errorf("%s: tok/s %v, %v", result.Name, v, ok)
		}
		n++
	}
	if n != 8 {
		t.Errorf("%d results, want one for each of 8 starts", n)
	}
}

func probeResult(t *testing.T) verdict.Result {
	t.Helper()
	var sources []verdict.Source
	for _, name := range []string{"nextn", "dflash", "ddtree"} {
		s, err := verdict.ReadSource(filepath.Join("..", "verdict", "testdata", "probe-"+name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, s)
	}
	r, err := verdict.CompareSources(sources, verdict.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWriteHTML(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	if err := WriteHTML(path, load(t), Options{}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() < 5000 {
		t.Errorf("%v, %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".report-*")); len(left) > 0 {
		t.Errorf("left behind %v", left)
	}
	if err := WriteHTML(filepath.Join(t.TempDir(), "no", "r.html"), load(t), Options{}); err == nil || !strings.Contains(err.Error(), "write report") {
		t.Errorf("unwritable path: %v", err)
	}
}
