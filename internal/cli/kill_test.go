package cli

import (
	"bufio"
	"bytes"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"treeline/internal/measure/simserver"
)

// ourselves is this program in a file of its own name: the test binary acts as treeline when it is called so, and a
// child that starts itself once more finds that file.
func ourselves(t *testing.T) (program string) {
	program = filepath.Join(t.TempDir(), "treeline")
	if err := os.Link(os.Args[0], program); err != nil {
		b, err := os.ReadFile(os.Args[0])
		if err == nil {
			err = os.WriteFile(program, b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return program
}

// A run that is killed without warning has on disk every request that it reported finished, and recomputing it from
// the raw streams prints the very lines that it had printed. TREELINE_FULL=1 kills twenty runs of 200 requests.
func TestKilledRun(t *testing.T) {
	runs := 2
	if os.Getenv("TREELINE_FULL") != "" {
		runs = 20
	}
	program := ourselves(t)
	spec := simserver.Default()
	spec.As, spec.TTFT, spec.TPOT, spec.Form.Usage = "vllm", 2e6, 5e5, "continuous"
	spec.Vary = simserver.Vary{Request: 0.2, Step: 0.2}
	s, err := simserver.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	defer s.Close()
	for i := range runs {
		dir := filepath.Join(t.TempDir(), "run")
		after := 1 + rand.IntN(199)
		printed := killed(t, exec.Command(program, "bench", "http://"+l.Addr().String(), "--requests", "200", "--concurrency", "4", "--max-tokens", "24", "--warmup", "1", "--out", dir, "--print-requests"), after)
		again := exec.Command(program, "report", dir, "--recompute", "--print-requests", "--json")
		var stdout, stderr bytes.Buffer
		again.Stdout, again.Stderr = &stdout, &stderr
		err := again.Run()
		if code := again.ProcessState.ExitCode(); code != ExitInvalid {
			t.Errorf("run %d: report --recompute ended with %d (%v), want %d: the run was interrupted\n%s", i, code, err, ExitInvalid, stderr.String())
		}
		lines := map[string]bool{}
		for line := range strings.Lines(stderr.String()) {
			lines[strings.TrimSpace(line)] = true
		}
		missing := 0
		for _, line := range printed {
			if !lines[line] {
				missing++
				t.Errorf("run %d: printed, and not recomputed: %s", i, line)
			}
		}
		if !strings.Contains(stdout.String(), `"code": "interrupted"`) {
			t.Errorf("run %d: the recomputed result does not say that it was interrupted:\n%s", i, stdout.String())
		}
		t.Logf("run %d: killed after %d requests; %d lines printed, %d recomputed, %d missing", i, after, len(printed), len(lines)-2, missing)
	}
}

// killed runs a command until it has printed so many request lines, kills it, and returns all it printed.
func killed(t *testing.T, cmd *exec.Cmd, after int) (lines []string) {
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewScanner(pipe)
	for r.Scan() {
		if strings.HasPrefix(r.Text(), "request {") {
			lines = append(lines, r.Text())
		} else {
			t.Log(r.Text())
		}
		if len(lines) == after {
			cmd.Process.Kill()
		}
	}
	cmd.Wait()
	if len(lines) < after {
		t.Fatalf("ended after %d lines", len(lines))
	}
	return lines
}
