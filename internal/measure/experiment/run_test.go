package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"treeline/internal/host"
	"treeline/internal/measure/plan"
	"treeline/internal/measure/record"
	"treeline/internal/measure/report"
	"treeline/internal/measure/verdict"
)

// fakeArm is an arm of a plan whose server is the test binary.
type fakeArm struct {
	name   string
	tpotUS int
	method string // "" is plain
	env    string // further variables, as YAML
}

func (a fakeArm) yaml() string {
	method := a.method
	if method == "" {
		method = "none"
	}
	return fmt.Sprintf("  - {name: %s, method: %s, server: treeline, command: [%q, \"{port}\"], env: {FAKE_PORT: \"{port}\", FAKE_TPOT_US: \"%d\", FAKE_METHOD: %q%s}}\n",
		a.name, method, os.Args[0], a.tpotUS, strings.ToUpper(a.method), a.env)
}

// experimentOf makes a plan without idle check: these servers sleep, and the test machine may be busy.
func experimentOf(t *testing.T, blocks int, arms ...fakeArm) plan.Plan {
	t.Helper()
	text := fmt.Sprintf("schema: treeline.plan/1\nblocks: %d\nworkload: {per_category: 1, max_tokens: 12, warmup: 1}\nidle: {max_foreign: 1, wait: 0s}\narms:\n", blocks)
	for _, a := range arms {
		text += a.yaml()
	}
	p, err := plan.Parse("plan.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// certified spares these runs the test of the client, which a busy test machine can fail.
func certified() *record.Client { return &record.Client{Certified: true, StampLagP99MS: 0.001} }

func TestKnownRatio(t *testing.T) {
	if testing.Short() {
		t.Skip("starts eight servers")
	}
	t.Parallel()
	p := experimentOf(t, 4, fakeArm{name: "plain", tpotUS: 9000}, fakeArm{name: "fast", tpotUS: 3000, method: "ngram"})
	dir := filepath.Join(t.TempDir(), "run")
	var seen []string
	out, err := Run(t.Context(), RunOptions{Plan: p, Client: certified(), PlanText: []byte("schema: x\n"), Dir: dir, Notify: func(e Event) {
		if e.Kind == EventMeasured {
			seen = append(seen, fmt.Sprintf("%d%s", e.Block, e.Arm))
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(seen, " "), "1plain 1fast 2fast 2plain 3fast 3plain 4plain 4fast"; got != want {
		t.Errorf("order of starts: got %s, want %s", got, want)
	}
	c := out.Result.Comparisons[0]
	if c.Verdict != verdict.Faster || !out.Result.Valid || c.Lo == nil {
		t.Fatalf("got %s, valid %v: %s (%v)", c.Verdict, out.Result.Valid, c.Sentence, c.Why)
	}
	// The truth is 3. How near the estimate comes is for the simulations of package verdict: here real clocks run, on a
	// machine that may be busy, and only the order of magnitude is sure.
	if *c.Ratio < 1.5 || *c.Ratio > 6 {
		t.Errorf("ratio %.3f, interval %.3f to %.3f; the truth is 3", *c.Ratio, *c.Lo, *c.Hi)
	}
	for i, want := range []struct {
		method string
		tau    float64
	}{{"none", 1}, {"ngram", 3}} {
		a := out.Result.Arms[i]
		if a.Method != want.method || a.ProofLevel != 2 || a.Tau == nil || math.Abs(*a.Tau-want.tau) > 1e-9 {
			t.Errorf("arm %s: method %s, proof %d, tau %v; want %s, 2, %g", a.Name, a.Method, a.ProofLevel, a.Tau, want.method, want.tau)
		}
	}
	if l := out.Result.Lossless[0]; l.Verdict != "consistent" || l.Diverged != 0 || l.Prompts != 8 {
		t.Errorf("lossless: %+v", l)
	}
	if err := follows(t, "result.schema.json", out.Result); err != nil {
		t.Error(err)
	}
	checkRunFolder(t, dir, out)
	resumeFinished(t, p, dir, out)
}

// checkRunFolder looks for everything that a finished run leaves.
func checkRunFolder(t *testing.T, dir string, out *RunResult) {
	t.Helper()
	if hash, err := plan.ReadLockHash(dir); err != nil || hash != out.PlanHash {
		t.Errorf("lock: %q, %v; want %q", hash, err, out.PlanHash)
	}
	var result verdict.Result
	b, err := os.ReadFile(filepath.Join(dir, report.ResultFile))
	if err == nil {
		err = json.Unmarshal(b, &result)
	}
	if err != nil || result.Report != filepath.Join(dir, ReportFile) || len(result.Arms) != 2 {
		t.Errorf("%s: %v, %+v", report.ResultFile, err, result)
	}
	for _, name := range []string{PlanFile, record.HostFile, ReportFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	folders, err := record.StartFolders(dir)
	if err != nil || len(folders) != len(out.Starts) {
		t.Fatalf("%d start folders, %v; want %d", len(folders), err, len(out.Starts))
	}
	for i, folder := range folders {
		s, err := finished(folder)
		if err != nil || s == nil || s.Order != i+1 || s.Requests == nil || s.Requests.OK != 8 || s.Fingerprint.Machine == "" {
			t.Errorf("%s: %v, %+v", folder, err, s)
		}
		requests, err := record.ReadRequests(folder)
		if err != nil || len(requests) != 9 { // one of them warm-up
			t.Errorf("%s: %d requests, %v; want 9", folder, len(requests), err)
		}
	}
}

// resumeFinished continues a finished run: no server is started and the figures are the same.
func resumeFinished(t *testing.T, p plan.Plan, dir string, first *RunResult) {
	t.Helper()
	kept := 0
	again, err := Run(t.Context(), RunOptions{Plan: p, Client: certified(), Dir: dir, Resume: true, Notify: func(e Event) {
		if e.Kind != EventKept {
			t.Errorf("resuming a finished run does %q", e.Kind)
		}
		kept++
	}})
	if err != nil {
		t.Fatal(err)
	}
	if kept != len(first.Starts) || *again.Result.Comparisons[0].Ratio != *first.Result.Comparisons[0].Ratio {
		t.Errorf("kept %d of %d starts, ratio %v after %v", kept, len(first.Starts), *again.Result.Comparisons[0].Ratio, *first.Result.Comparisons[0].Ratio)
	}
	if _, err := Run(t.Context(), RunOptions{Plan: p, Client: certified(), Dir: dir}); err == nil || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("a second run into the same folder: got %v", err)
	}
	p.Seed++
	if _, err := Run(t.Context(), RunOptions{Plan: p, Client: certified(), Dir: dir, Resume: true}); err == nil || !strings.Contains(err.Error(), "another plan") {
		t.Errorf("resumed with another plan: got %v", err)
	}
	p.Seed--
	other := host.Collect()
	other.Machine = "elsewhere"
	if _, err := Run(t.Context(), RunOptions{Plan: p, Client: certified(), Dir: dir, Resume: true, Fingerprint: other}); err == nil || !strings.Contains(err.Error(), "another machine") {
		t.Errorf("resumed elsewhere: got %v", err)
	}
}

// A test at 5 % calls equal arms different one time in twenty by design; a wrong "faster" is forgiven twice.
func TestEqualArms(t *testing.T) {
	if testing.Short() {
		t.Skip("starts six servers")
	}
	t.Parallel()
	for attempt := range 3 {
		p := experimentOf(t, 3, fakeArm{name: "a", tpotUS: 2500}, fakeArm{name: "b", tpotUS: 2500, method: "ngram"})
		out, err := Run(t.Context(), RunOptions{Plan: p, Client: certified(), Dir: filepath.Join(t.TempDir(), "run")})
		if err != nil {
			t.Fatal(err)
		}
		c := out.Result.Comparisons[0]
		if c.Verdict != verdict.Faster && c.Verdict != verdict.Slower {
			return
		}
		t.Logf("attempt %d: %s", attempt+1, c.Sentence)
	}
	t.Error("two arms of the same speed were called different three times")
}

func TestArmWithoutItsMethod(t *testing.T) {
	t.Parallel()
	a := fakeArm{name: "b", tpotUS: 300, method: "ngram"}
	p := experimentOf(t, 1, fakeArm{name: "a", tpotUS: 300}, a)
	for i, v := range p.Arms[1].Env {
		if strings.HasPrefix(v, "FAKE_METHOD=") {
			p.Arms[1].Env[i] = "FAKE_METHOD=" // the server forgets its flag
		}
	}
	out, err := Run(t.Context(), RunOptions{Plan: p, Client: certified(), Dir: filepath.Join(t.TempDir(), "run")})
	if err != nil {
		t.Fatal(err)
	}
	if c := out.Result.Comparisons[0]; c.Verdict != verdict.Invalid || out.Result.Valid {
		t.Errorf("an arm that ran without its method: verdict %s, valid %v", c.Verdict, out.Result.Valid)
	}
}

func TestServerDies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, env string
		wants     []string
	}{
		{"in the load", ", FAKE_DIE_AT: \"5\"", []string{"block 1 of 1, arm b (start 2 of 2)", "exit status 3", "RuntimeError: the fake died as told", ServerLogFile}},
		{"in warm-up", ", FAKE_DIE_AT: \"1\"", []string{"arm b (start 2 of 2)", "the fake died as told"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := experimentOf(t, 1, fakeArm{name: "a", tpotUS: 300}, fakeArm{name: "b", tpotUS: 300, method: "ngram", env: tt.env})
			dir := filepath.Join(t.TempDir(), "run")
			out, err := Run(t.Context(), RunOptions{Plan: p, Client: certified(), Dir: dir})
			if err == nil {
				t.Fatal("got no error")
			}
			for _, want := range tt.wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error lacks %q:\n%v", want, err)
				}
			}
			if len(out.Starts) != 1 {
				t.Errorf("%d starts kept, want 1", len(out.Starts))
			}
			// The plan is run on with a server that lives: what failed is set aside, what was finished is kept.
			p.Arms[1].Env = append(p.Arms[1].Env, "FAKE_DIE_AT=0")
			if _, err := Run(t.Context(), RunOptions{Plan: p, Client: certified(), Dir: dir, Resume: true}); err == nil || !strings.Contains(err.Error(), "another plan") {
				t.Errorf("resumed with another environment: got %v", err)
			}
		})
	}
}

func TestStopAndResume(t *testing.T) {
	t.Parallel()
	p := experimentOf(t, 2, fakeArm{name: "a", tpotUS: 1000}, fakeArm{name: "b", tpotUS: 1000, method: "ngram"})
	dir := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("interrupted by the user")
	out, err := Run(ctx, RunOptions{Plan: p, Client: certified(), Dir: dir, Notify: func(e Event) {
		if e.Kind == EventRequest && e.Start == 2 && e.Done == 3 {
			cancel(stop)
		}
	}})
	if !errors.Is(err, stop) || !strings.Contains(err.Error(), "stopped in block 1 of 2, start 2 of 4") {
		t.Fatalf("got %v", err)
	}
	if len(out.Starts) != 1 || out.Planned != 4 {
		t.Errorf("%d of %d starts finished, want 1 of 4", len(out.Starts), out.Planned)
	}
	interrupted := record.StartFolder(dir, 2, "b")
	if requests, err := record.ReadRequests(interrupted); err != nil || len(requests) < 3 {
		t.Errorf("%d finished requests on disk, %v; want at least 3", len(requests), err)
	}
	out, err = Run(t.Context(), RunOptions{Plan: p, Client: certified(), Dir: dir, Resume: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Starts) != 4 {
		t.Errorf("%d starts after resuming, want 4", len(out.Starts))
	}
	if requests, err := record.ReadRequests(filepath.Join(dir, SetAsideFolder, "002-b-1")); err != nil || len(requests) < 3 {
		t.Errorf("the interrupted start was not set aside: %d requests, %v", len(requests), err)
	}
}

// A start on a machine that others use is measured once more, but only while there is hope: not when the machine did
// not become idle before it.
func TestDisturbedStart(t *testing.T) {
	t.Parallel()
	if _, err := host.ReadCPU(); err != nil {
		t.Skip("this system does not tell CPU use")
	}
	tests := []struct {
		name      string
		busy      bool
		wantAside int
	}{{"quiet before", false, 1}, {"busy before", true, 0}}
	for _, tt := range tests {
		p := experimentOf(t, 1, fakeArm{name: "a", tpotUS: 300}, fakeArm{name: "b", tpotUS: 300, method: "ngram"})
		dir := filepath.Join(t.TempDir(), "run")
		aside := 0
		r := &runner{RunOptions: RunOptions{Plan: p, Client: certified(), Dir: dir, Notify: func(e Event) {
			if e.Kind == EventSetAside {
				aside++
			}
		}}}
		if tt.busy {
			r.Plan.Idle.MaxForeign = -1 // every machine is busier than that
		}
		s := step{block: 1, order: 1, arm: p.Arms[0]}
		if !tt.busy { // quiet before, but not during
			r.Notify = func(e Event) {
				switch e.Kind {
				case EventRequest:
					r.Plan.Idle.MaxForeign = -1
				case EventStart:
					r.Plan.Idle.MaxForeign = 1
				case EventSetAside:
					aside++
				}
			}
		}
		measured, err := r.start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		folders, _ := filepath.Glob(filepath.Join(dir, SetAsideFolder, "*", record.RequestsFile))
		if aside != tt.wantAside || len(folders) != tt.wantAside {
			t.Errorf("%s: %d set aside, %d folders; want %d", tt.name, aside, len(folders), tt.wantAside)
		}
		if disturbed(measured) == "" {
			t.Errorf("%s: the disturbance is not in the record: %v", tt.name, measured.Warnings)
		}
	}
}

func TestRunErrors(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := experimentOf(t, 1, fakeArm{name: "a", tpotUS: 300}, fakeArm{name: "b", tpotUS: 300})
	tests := []struct {
		name   string
		dir    string
		change func(*plan.Arm)
		want   string
	}{
		{"port taken", filepath.Join(t.TempDir(), "r"), func(a *plan.Arm) { a.Port = taken }, fmt.Sprintf("block 1 of 1, arm a (start 1 of 2): port %d is taken", taken)},
		{"no program", filepath.Join(t.TempDir(), "r"), func(a *plan.Arm) { a.Command = []string{"no-such-server-1"} }, "is the program installed"},
		{"no model", filepath.Join(t.TempDir(), "r"), func(a *plan.Arm) { a.Model = filepath.Join(file, "m.gguf") }, "model of arm a: "},
		{"folder under a file", filepath.Join(file, "r"), func(*plan.Arm) {}, "create run folder"},
	}
	for _, tt := range tests {
		q := p
		q.Arms = append([]plan.Arm{}, p.Arms...)
		tt.change(&q.Arms[0])
		if _, err := Run(t.Context(), RunOptions{Plan: q, Client: certified(), Dir: tt.dir}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.want)
		}
	}
	if err := CheckFolder(filepath.Join(file, "r")); err == nil {
		t.Error("CheckFolder accepts a folder under a file")
	}
	if err := CheckFolder(filepath.Join(t.TempDir(), "new")); err != nil {
		t.Errorf("CheckFolder of a new folder: %v", err)
	}
}

func TestCommand(t *testing.T) {
	r := &runner{RunOptions: RunOptions{Executable: "/bin/treeline"}}
	tests := []struct {
		arm  plan.Arm
		want string
	}{
		{plan.Arm{Model: "m.gguf", Method: "ngram", Flags: []string{"--threads", "2"}}, "/bin/treeline serve m.gguf --host 127.0.0.1 --port 99 --speculative-algorithm NGRAM --threads 2"},
		{plan.Arm{Command: []string{"vllm", "--port={port}", "{port}", "{start}"}, Method: "none"}, "vllm --port=99 99 7"},
	}
	for _, tt := range tests {
		if got := strings.Join(r.command(tt.arm, 99, 7), " "); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func TestTunedUnequally(t *testing.T) {
	arms := func(a, b plan.Arm) plan.Plan {
		a.Name, b.Name = "a", "b"
		return plan.Plan{Baseline: "a", Arms: []plan.Arm{a, b}}
	}
	tests := []struct {
		name string
		p    plan.Plan
		want int
	}{
		{"both untuned", arms(plan.Arm{Method: "nextn"}, plan.Arm{Method: "dflash"}), 0},
		{"one tuned", arms(plan.Arm{Method: "nextn"}, plan.Arm{Method: "dflash", Tuned: true}), 1},
		{"plain decoding has nothing to tune", arms(plan.Arm{Method: "none"}, plan.Arm{Method: "dflash", Tuned: true}), 0},
	}
	for _, tt := range tests {
		if got := len(tunedUnequally(tt.p)); got != tt.want {
			t.Errorf("%s: %d warnings, want %d", tt.name, got, tt.want)
		}
	}
}

func TestPairedRatio(t *testing.T) {
	start := func(tpots map[string]float64) *record.Start {
		s := &record.Start{}
		for p, v := range tpots {
			s.Prompts = append(s.Prompts, record.PromptValue{Prompt: p, TPOTms: v})
		}
		return s
	}
	tests := []struct {
		name      string
		base, arm map[string]float64
		want      float64
	}{
		{"geometric mean", map[string]float64{"a": 8, "b": 2}, map[string]float64{"a": 2, "b": 2}, 2},
		{"only common prompts", map[string]float64{"a": 6, "b": 2}, map[string]float64{"a": 2, "c": 9}, 3},
		{"undefined speed", map[string]float64{"a": 6, "b": 0}, map[string]float64{"a": 3, "b": 4}, 2},
		{"nothing in common", map[string]float64{"a": 6}, map[string]float64{"b": 3}, 0},
	}
	for _, tt := range tests {
		if got := PairedRatio(start(tt.base), start(tt.arm)); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%s: got %g, want %g", tt.name, got, tt.want)
		}
	}
}
