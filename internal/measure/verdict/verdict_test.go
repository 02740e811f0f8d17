package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"treeline/internal/host"
	"treeline/internal/measure/record"
)

// world is a server pair of known truth. All spreads are standard deviations of the logarithm.
type world struct {
	ratio              float64 // true speed of b over a
	starts             int     // of each arm
	start, request     float64 // spread between starts and between requests
	prompts            int
	interleaved        bool
	seed               uint64
	edit               func(*record.Start)
	proofA, proofB     int
	kind               string
	methodA, methodB   string
	textA, textB       func(start, prompt int) string
	machineA, machineB string
}

func text(_, p int) string { return fmt.Sprintf("Answer number %d of the model.", p) }

// usual is an experiment that ends in a certain verdict: 5 blocks, 16 prompts, both arms proven.
func usual() world {
	return world{
		ratio: 1.5, starts: 5, start: 0.01, request: 0.02, prompts: 16, interleaved: true, seed: 1, proofA: 2, proofB: 2,
		kind: "treeline", methodA: "none", methodB: "ngram", textA: text, textB: text, machineA: "m1", machineB: "m1",
	}
}

func (w world) build() []record.Start {
	rng := rand.New(rand.NewPCG(w.seed, 99))
	var out []record.Start
	categories := []string{"code", "chat"}
	one := func(arm string, i, order int) record.Start {
		s := record.Start{Arm: arm, Order: order, URL: "http://127.0.0.1:30000", ServerStart: fmt.Sprint(arm, i)}
		s.Target = record.Target{Kind: w.kind, Version: "1", Model: "m", Method: w.methodA, ProofLevel: w.proofA, Evidence: []string{"counters stood still"}}
		s.Fingerprint = host.Fingerprint{Machine: w.machineA, CPU: "Test CPU", Cores: 2}
		s.Requests = &record.Counts{Sent: w.prompts, OK: w.prompts}
		speed, texts := 1.0, w.textA
		if arm == "b" {
			speed, texts = w.ratio, w.textB
			s.Target.Method, s.Target.ProofLevel = w.methodB, w.proofB
			s.Fingerprint.Machine = w.machineB
			if w.methodB != "none" {
				tau := 1.8
				s.Tau = &tau
			}
		}
		if w.interleaved {
			s.Block = i + 1
		}
		luck := w.start * rng.NormFloat64()
		for p := range w.prompts {
			base := 20 * math.Exp(0.3*math.Sin(float64(p)))
			s.Prompts = append(s.Prompts, record.PromptValue{
				Prompt: fmt.Sprintf("p%02d", p), Category: categories[p%2], Tokens: 64,
				TPOTms: base / speed * math.Exp(luck+w.request*rng.NormFloat64()), Text: texts(i, p),
			})
		}
		if w.edit != nil {
			w.edit(&s)
		}
		return s
	}
	if !w.interleaved {
		for i := range w.starts {
			out = append(out, one("a", i, i+1))
		}
		for i := range w.starts {
			out = append(out, one("b", i, w.starts+i+1))
		}
		return out
	}
	for i := range w.starts {
		arms := []string{"a", "b"}
		if i%2 == 1 {
			arms = []string{"b", "a"}
		}
		for j, arm := range arms {
			out = append(out, one(arm, i, 2*i+j+1))
		}
	}
	slices.SortStableFunc(out, func(x, y record.Start) int { return strings.Compare(x.Arm, y.Arm) })
	return out
}

func compare(t *testing.T, w world, o Options) (Result, Comparison) {
	t.Helper()
	r, err := Compare(w.build(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r, r.Comparisons[0]
}

func TestVerdicts(t *testing.T) {
	tests := []struct {
		name       string
		change     func(*world)
		want       Verdict
		confidence string
		warning    string // a code that must be there; "" means none may be
		sentence   string
	}{
		{"faster", func(*world) {}, Faster, Certain, "", "b is faster than a: 1."},
		{"slower", func(w *world) { w.ratio = 0.7 }, Slower, Certain, "", "b is slower than a: 0."},
		{"equivalent", func(w *world) { w.ratio, w.start, w.starts = 1, 0.004, 8 }, Equivalent, Certain, "", "equally fast to within 2.0 %"},
		{"negligibly", func(w *world) { w.ratio, w.start, w.request, w.starts = 1.01, 0.0002, 0.001, 8 }, FasterNegligibly, Certain, "", "but by less than 2.0 %"},
		{"negligibly slower", func(w *world) { w.ratio, w.start, w.request, w.starts = 0.99, 0.0002, 0.001, 8 }, SlowerNegligibly, Certain, "", "but by less than"},
		{"undecided", func(w *world) { w.ratio, w.start, w.starts = 1.02, 0.06, 4 }, Undecided, Likely, "", "would settle"},
		{"two blocks", func(w *world) { w.starts = 2 }, Undecided, Likely, "", "luck of a start"},
		{"one block", func(w *world) { w.starts = 1 }, Undecided, Likely, "", "luck of a start"},
		{"not interleaved", func(w *world) { w.interleaved = false }, Faster, Likely, "confounded_with_time", "b is probably faster"},
		{"other machine", func(w *world) { w.machineB = "m2" }, Faster, Likely, "confounded_with_machine", "probably"},
		{"configured only", func(w *world) { w.proofB = 1 }, Faster, Likely, "method_unproven", "probably"},
		{"asserted only", func(w *world) { w.proofB = 0 }, Invalid, Likely, "method_unproven", "nothing shows that the server ran ngram"},
		{"baseline unproven", func(w *world) { w.proofA = 0 }, Invalid, Likely, "method_unproven", "ran none"},
		{"nothing can be shown", func(w *world) {
			w.kind, w.proofA, w.proofB, w.methodA, w.methodB = "generic", 0, 0, "unknown", "dflash"
		}, Faster, Likely, "method_unproven", `the server measured as "b" is probably faster`},
		{"not asked for a method", func(w *world) { w.proofA, w.proofB, w.methodA, w.methodB = 0, 0, "unknown", "unknown" }, Faster, Likely, "method_unproven", "measured as"},
		{"alternating in name only", func(w *world) {
			w.edit = func(s *record.Start) {
				s.Order = s.Block
				if s.Arm == "b" {
					s.Order += 10
				}
			}
		}, Faster, Likely, "confounded_with_time", "probably"},
		{"always the same order", func(w *world) {
			w.edit = func(s *record.Start) {
				s.Order = 2 * s.Block
				if s.Arm == "b" {
					s.Order++
				}
			}
		}, Faster, Certain, "order_unbalanced", "b is faster"},
		{"errors", func(w *world) {
			w.edit = func(s *record.Start) { s.Requests = &record.Counts{Sent: 50, OK: 49, Failed: 1} }
		}, Invalid, Likely, "requests_failed", "requests failed"},
		{"output changed", func(w *world) {
			w.textB = func(_, p int) string { return fmt.Sprintf("Answer %d of another model.", p) }
		}, Invalid, Likely, "lossless_broken", "the output of b changed"},
		{"another version in one start", func(w *world) {
			w.edit = func(s *record.Start) {
				if s.Arm == "a" && s.Block == 3 {
					s.Target.Version = "2"
				}
			}
		}, Faster, Likely, "identity_changed", "probably"},
		{"another method in one start", func(w *world) {
			w.edit = func(s *record.Start) {
				if s.Arm == "a" && s.Block == 3 {
					s.Target.Method = "ngram"
				}
			}
		}, Invalid, Likely, "identity_changed", "in another"},
		{"other lengths", func(w *world) {
			w.edit = func(s *record.Start) {
				for i := range s.Prompts {
					if s.Arm == "b" && i < 4 {
						s.Prompts[i].Tokens = 50
					}
				}
			}
		}, Faster, Certain, "length_mismatch", "b is faster"},
		{"drafts of an unknown method", func(w *world) { w.methodB = "unknown" }, Faster, Likely, "method_unproven", "measured as"},
		{"nothing in common", func(w *world) {
			w.edit = func(s *record.Start) {
				if s.Arm == "b" {
					s.Prompts = s.Prompts[:0]
				}
			}
		}, Invalid, Likely, "no_common_prompts", "No verdict"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := usual()
			tt.change(&w)
			r, c := compare(t, w, Options{})
			if c.Verdict != tt.want || c.Confidence != tt.confidence {
				t.Errorf("got %s, %s (%s), want %s, %s", c.Verdict, c.Confidence, c.Sentence, tt.want, tt.confidence)
			}
			if r.Valid != (tt.want != Invalid) {
				t.Errorf("valid = %v", r.Valid)
			}
			if tt.warning == "" && len(r.Warnings) > 0 || tt.warning != "" && !hasCode(r, tt.warning) {
				t.Errorf("warnings %v, want code %q", r.Warnings, tt.warning)
			}
			if !strings.Contains(c.Sentence, tt.sentence) {
				t.Errorf("sentence %q lacks %q", c.Sentence, tt.sentence)
			}
			if c.Ratio != nil && c.Lo != nil && !(*c.Lo <= *c.Ratio && *c.Ratio <= *c.Hi) {
				t.Errorf("ratio %v outside its interval %v..%v", *c.Ratio, *c.Lo, *c.Hi)
			}
			if (c.Lo == nil) != (c.Verdict == Undecided && c.Blocks < 3 || tt.warning == "no_common_prompts") {
				t.Errorf("lo = %v with %d blocks", c.Lo, c.Blocks)
			}
		})
	}
}

// A fatal warning of any one start makes the comparison invalid; others are passed on.
func TestFatalWarnings(t *testing.T) {
	for code := range fatalCodes() {
		w := usual()
		w.edit = func(s *record.Start) {
			if s.Arm == "b" && s.Block == 2 {
				s.Warnings = []record.Warning{{Code: code, Text: "seen in start 4"}}
				if code == record.WarnBuffered {
					s.Prompts[0].TPOTms, s.Prompts[1].TPOTms = 0, 0 // 2 of 16
				}
			}
		}
		r, c := compare(t, w, Options{})
		if c.Verdict != Invalid || r.Valid || !strings.Contains(c.Sentence, "seen in start 4") {
			t.Errorf("%s: %s, valid %v, %s", code, c.Verdict, r.Valid, c.Sentence)
		}
	}
	for _, mild := range []record.Warning{
		{Code: record.WarnFirstEventSize, Text: "no token counts in the stream"},
		{Code: record.WarnClientBound, Text: "ttft_ms: stamps are late"},
		{Code: record.WarnBuffered, Text: "1 of 16 requests arrived in lumps"},
	} {
		w := usual()
		w.edit = func(s *record.Start) { s.Warnings = []record.Warning{mild} }
		if r, c := compare(t, w, Options{}); c.Verdict != Faster || !hasCode(r, mild.Code) || len(r.Warnings) != 1 {
			t.Errorf("%s: %s, %v", mild.Code, c.Verdict, r.Warnings)
		}
	}
}

func TestFigures(t *testing.T) {
	r, c := compare(t, usual(), Options{})
	if math.Abs(*c.Ratio-1.5) > 0.05 || c.Blocks != 5 || len(c.BlockRatios) != 5 || c.Prompts != 16 {
		t.Errorf("ratio %v, %d blocks, %d block ratios, %d prompts", *c.Ratio, c.Blocks, len(c.BlockRatios), c.Prompts)
	}
	product := 1.0
	for _, x := range c.BlockRatios {
		product *= x
	}
	if got := math.Pow(product, 0.2); math.Abs(got-*c.Ratio) > 1e-12 {
		t.Errorf("the geometric mean of the block ratios is %v, the ratio %v", got, *c.Ratio)
	}
	if c.TauRatio == nil || math.Abs(*c.TauRatio-1.8) > 1e-12 || math.Abs(*c.TauRatio**c.RoundTimeRatio-*c.Ratio) > 1e-12 {
		t.Errorf("decomposition %v x %v of %v", c.TauRatio, c.RoundTimeRatio, *c.Ratio)
	}
	if len(c.Categories) != 2 || c.Categories[0].Name != "chat" || c.Categories[0].Prompts != 8 || c.Categories[0].Lo == nil {
		t.Errorf("categories %+v", c.Categories)
	}
	if *c.MDE <= 1 || *c.MDE > 1.1 {
		t.Errorf("detectable ratio %v", *c.MDE)
	}
	if len(r.Lossless) != 1 || r.Lossless[0].Verdict != "consistent" || r.Lossless[0].ControlPairs != 10 {
		t.Errorf("lossless %+v", r.Lossless)
	}
	var sum float64
	var n int
	for _, s := range usual().build() {
		if s.Arm == "a" {
			for _, v := range s.Prompts {
				sum, n = sum+v.TPOTms, n+1
			}
		}
	}
	if got, want := *r.Arms[0].TokS, 1000/(sum/float64(n)); math.Abs(got-want) > 1e-9 {
		t.Errorf("tok/s of the baseline %v, want 1000 / mean TPOT = %v", got, want)
	}
}

// Swapping the arms turns the ratio round and nothing else.
func TestSwap(t *testing.T) {
	w := usual()
	_, forth := compare(t, w, Options{Baseline: "a"})
	_, back := compare(t, w, Options{Baseline: "b"})
	for _, pair := range [][2]float64{{*forth.Ratio, *back.Ratio}, {*forth.Lo, *back.Hi}, {*forth.Hi, *back.Lo}} {
		if math.Abs(pair[0]*pair[1]-1) > 1e-9 {
			t.Errorf("%v and %v are not reciprocal", pair[0], pair[1])
		}
	}
	if math.Abs(*forth.P-*back.P) > 1e-12 || back.Verdict != Slower {
		t.Errorf("p %v and %v, verdict %s", *forth.P, *back.P, back.Verdict)
	}
}

// A prompt that failed in one start is left out everywhere, so it can't shift the ratio.
func TestPairing(t *testing.T) {
	w := usual()
	w.edit = func(s *record.Start) {
		if s.Arm == "b" && s.Block == 2 {
			s.Prompts[3].TPOTms = 0
		}
	}
	r, c := compare(t, w, Options{})
	if c.Prompts != 15 || !hasCode(r, "prompts_dropped") {
		t.Errorf("%d prompts, warnings %v", c.Prompts, r.Warnings)
	}
}

// Ten measurements of one server process are one start: there is no verdict, however tight they look.
func TestOneProcessIsOneStart(t *testing.T) {
	w := usual()
	w.interleaved, w.starts, w.start = false, 10, 0
	w.edit = func(s *record.Start) { s.ServerStart = "pid 17" }
	blocks := usual() // blocks in which no server was restarted are one start too
	blocks.edit = func(s *record.Start) { s.ServerStart = "pid 17 of " + s.Arm }
	if _, c := compare(t, blocks, Options{}); c.Verdict != Undecided || c.Starts != [2]int{1, 1} {
		t.Errorf("blocks without restarts: %s, starts %v", c.Verdict, c.Starts)
	}
	r, c := compare(t, w, Options{})
	if c.Verdict != Undecided || c.Starts != [2]int{1, 1} || !hasCode(r, "same_start") || c.WithinLo == nil {
		t.Errorf("%s, starts %v, warnings %v", c.Verdict, c.Starts, r.Warnings)
	}
}

// Three arms: the p values are Holm's over both comparisons.
func TestHolmOverArms(t *testing.T) {
	w := usual()
	w.ratio, w.start, w.starts = 1.03, 0.02, 4
	starts := w.build()
	w.seed, w.ratio = 2, 1.5
	for _, s := range w.build() {
		if s.Arm == "b" {
			s.Arm, s.Order = "c", s.Order+100
			starts = append(starts, s)
		}
	}
	alone, _ := Compare(slices.DeleteFunc(slices.Clone(starts), func(s record.Start) bool { return s.Arm == "c" }), Options{})
	both, err := Compare(starts, Options{})
	if err != nil || len(both.Comparisons) != 2 || len(both.Arms) != 3 {
		t.Fatalf("%v, %d comparisons", err, len(both.Comparisons))
	}
	b, c := both.Comparisons[0], both.Comparisons[1]
	if got, want := *b.P, *alone.Comparisons[0].P; *c.P > want && got < want {
		t.Errorf("adjusted p %v below the unadjusted %v", got, want)
	}
	if *b.Lo != *alone.Comparisons[0].Lo {
		t.Error("the interval was adjusted too")
	}
}

// With no true difference, the share of false alarms is the level of the test, restart variance included.
func TestFalseAlarms(t *testing.T) {
	alarms := 0
	const runs = 400
	for seed := range uint64(runs) {
		w := usual()
		w.ratio, w.start, w.request, w.prompts, w.starts, w.seed = 1, 0.05, 0.04, 8, 4, seed+100
		w.textA = func(int, int) string { return "" } // no lossless check
		_, c := compare(t, w, Options{})
		if c.Verdict == Faster || c.Verdict == Slower {
			alarms++
		}
	}
	if share := float64(alarms) / runs; share > 0.09 || share < 0.015 {
		t.Errorf("%.3f of the null experiments were called a difference, want about 0.05", share)
	}
}

func TestAltering(t *testing.T) {
	w := usual()
	w.textB = func(_, p int) string { return fmt.Sprintf("Answer %d of another model.", p) }
	if r, c := compare(t, w, Options{Altering: true}); c.Verdict != Faster || !r.Lossless[0].Intended {
		t.Errorf("%s, %+v", c.Verdict, r.Lossless[0])
	}
}

func TestNothingToCompare(t *testing.T) {
	if _, err := Compare(nil, Options{}); err == nil {
		t.Error("no starts gave a result")
	}
	if _, err := Compare(usual().build(), Options{Baseline: "x"}); err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("unknown baseline: %v", err)
	}
}

// The founding figures: one request each, and a claim of 1.69x and 2.09x that one request can't carry.
func TestFoundingFigures(t *testing.T) {
	var sources []Source
	for _, name := range []string{"nextn", "dflash", "ddtree"} {
		s, err := ReadSource(filepath.Join("testdata", "probe-"+name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, s)
	}
	r, err := CompareSources(sources, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		ratio string
		tokS  float64
	}{{"1.69x", 100.1}, {"2.09x", 124.2}} {
		c := r.Comparisons[i]
		if c.Verdict != Undecided || c.Lo != nil || c.Hi != nil || !strings.Contains(c.Sentence, want.ratio) || Times(*c.Ratio) != want.ratio {
			t.Errorf("%s: %s, ratio %v, %s", c.Arm, c.Verdict, *c.Ratio, c.Sentence)
		}
		if *r.Arms[i+1].TokS != want.tokS || len(c.Why) < 5 || c.Baseline != "probe-nextn" {
			t.Errorf("%s against %s: tok/s %v, reasons %q", c.Arm, c.Baseline, *r.Arms[i+1].TokS, c.Why)
		}
	}
	if !r.Valid || *r.Arms[0].TokS != 59.36 {
		t.Errorf("valid %v, baseline %v", r.Valid, *r.Arms[0].TokS)
	}
}

func hasCode(r Result, code string) bool {
	return slices.ContainsFunc(r.Warnings, func(w record.Warning) bool { return w.Code == code })
}
