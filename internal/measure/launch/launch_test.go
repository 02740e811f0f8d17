package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary play the server: with this variable set it behaves as told instead of testing.
func TestMain(m *testing.M) {
	if role := os.Getenv("LAUNCH_TEST_ROLE"); role != "" {
		play(role, os.Args[1:])
		return
	}
	os.Exit(m.Run())
}

func play(role string, args []string) {
	serve := func(path string) {
		mux := http.NewServeMux()
		mux.HandleFunc(path, func(http.ResponseWriter, *http.Request) {})
		_ = http.ListenAndServe("127.0.0.1:"+args[0], mux)
	}
	switch role {
	case "health":
		serve("/health")
	case "models":
		serve("/v1/models")
	case "loading":
		_ = http.ListenAndServe("127.0.0.1:"+args[0], http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }))
	case "dies":
		fmt.Println("loading the model\nnoise\nRuntimeError: CUDA out of memory\nmore noise\nshutting down")
		os.Exit(7)
	case "silent":
		os.Exit(0)
	case "stubborn": // ignores the request to terminate, and has a child that sleeps
		signal.Ignore(syscall.SIGTERM)
		child := exec.Command("sleep", "60")
		if err := child.Start(); err != nil {
			os.Exit(1)
		}
		_ = os.WriteFile(args[1], []byte(strconv.Itoa(child.Process.Pid)), 0o600)
		serve("/health")
	case "parent": // starts a server and sleeps: the test kills it and looks for the orphan
		s, err := Start(Command{Args: []string{os.Args[0], args[0]}, Env: []string{"LAUNCH_TEST_ROLE=health"}, Log: args[1] + ".log"})
		if err != nil {
			os.Exit(1)
		}
		_ = os.WriteFile(args[1], []byte(strconv.Itoa(s.Pid())), 0o600)
		time.Sleep(time.Minute)
	}
}

// child starts the test binary in a role on a free port.
func child(t *testing.T, role string, more ...string) (s *Server, base string) {
	t.Helper()
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	s, err = Start(Command{
		Args: append([]string{os.Args[0], strconv.Itoa(port)}, more...),
		Env:  []string{"LAUNCH_TEST_ROLE=" + role},
		Log:  filepath.Join(t.TempDir(), "sub", "server.log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop(0) })
	return s, fmt.Sprintf("http://127.0.0.1:%d", port)
}

func TestReadyAndStop(t *testing.T) {
	for _, role := range []string{"health", "models"} {
		s, base := child(t, role)
		if err := s.WaitReady(t.Context(), base, 20*time.Second); err != nil {
			t.Fatalf("%s: %v", role, err)
		}
		if err := s.ExitError(); err != nil {
			t.Errorf("%s runs, yet ExitError is %v", role, err)
		}
		s.Stop(10 * time.Second)
		if alive(s.Pid()) {
			t.Errorf("%s: process %d is alive after Stop", role, s.Pid())
		}
		s.Stop(time.Second) // a second time is harmless
	}
}

func TestChildDies(t *testing.T) {
	s, base := child(t, "dies")
	err := s.WaitReady(t.Context(), base, 20*time.Second)
	var exit *ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("got %v, want an ExitError", err)
	}
	for _, want := range []string{"exit status 7", "| RuntimeError: CUDA out of memory\n", "| shutting down\n", s.Log()} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "noise") {
		t.Errorf("error shows lines that tell nothing:\n%v", err)
	}
	silent, base := child(t, "silent")
	if err := silent.WaitReady(t.Context(), base, 20*time.Second); err == nil || !strings.Contains(err.Error(), "it wrote nothing") {
		t.Errorf("got %v, want an error that says nothing was written", err)
	}
}

func TestNotReady(t *testing.T) {
	s, base := child(t, "loading")
	for i := 0; ; i++ { // until it listens, so that the last poll sees its answer
		if resp, err := http.Get(base); err == nil {
			resp.Body.Close()
			break
		}
		if i > 400 {
			t.Fatal("the child never listened")
		}
		time.Sleep(25 * time.Millisecond)
	}
	err := s.WaitReady(t.Context(), base, 100*time.Millisecond)
	var late *NotReadyError
	if !errors.As(err, &late) || !strings.Contains(err.Error(), "503 Service Unavailable") {
		t.Errorf("got %v, want a NotReadyError with the last status", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.WaitReady(ctx, base, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

func TestStopKillsTheGroup(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no process groups")
	}
	file := filepath.Join(t.TempDir(), "pid")
	s, base := child(t, "stubborn", file)
	if err := s.WaitReady(t.Context(), base, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	grandchild := readPid(t, file)
	s.Stop(50 * time.Millisecond)
	waitGone(t, s.Pid())
	waitGone(t, grandchild)
}

func TestNoOrphanOfAKilledParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties a child's life to its parent's")
	}
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pid")
	parent := exec.Command(os.Args[0], strconv.Itoa(port), file)
	parent.Env = append(parent.Environ(), "LAUNCH_TEST_ROLE=parent")
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	pid := readPid(t, file)
	if !alive(pid) {
		t.Fatalf("the server %d does not run", pid)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	waitGone(t, pid)
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	notDir := filepath.Join(dir, "file")
	if err := os.WriteFile(notDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		c    Command
		want string
	}{
		{"no command", Command{Log: filepath.Join(dir, "log")}, "the command is empty"},
		{"unknown program", Command{Args: []string{"no-such-program-1"}, Log: filepath.Join(dir, "log")}, "is the program installed"},
		{"log under a file", Command{Args: []string{"true"}, Log: filepath.Join(notDir, "log")}, "create log of true"},
	}
	for _, tt := range tests {
		if _, err := Start(tt.c); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

func TestCheckPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := CheckPort(port); err == nil || !strings.Contains(err.Error(), "is taken") {
		t.Errorf("taken port: got %v", err)
	}
	l.Close()
	if err := CheckPort(port); err != nil {
		t.Errorf("free port: got %v", err)
	}
}

func TestTellingLines(t *testing.T) {
	tests := []struct {
		name, log string
		want      []string
	}{
		{"empty", "", nil},
		{"no cause named", "one\ntwo\n\n", []string{"two"}},
		{"progress bar", "10%\r50%\r100%\n", []string{"100%"}},
		{"most recent causes", strings.Repeat("error 1\n", 9) + "ok\nerror 2\nbye", append(strings.Split(strings.Repeat("error 1,", 4), ",")[:4], "error 2", "bye")},
		{"long line", "error " + strings.Repeat("x", 1000), []string{"error " + strings.Repeat("x", logLineSize-6) + "..."}},
		{"not UTF-8", "fatal \xff", []string{"fatal ?"}},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(tt.log), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := tellingLines(path); strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func readPid(t *testing.T, file string) int {
	t.Helper()
	for range 800 {
		if b, err := os.ReadFile(file); err == nil && len(b) > 0 {
			pid, err := strconv.Atoi(string(b))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatalf("%s was never written", file)
	return 0
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	for range 800 {
		if !alive(pid) {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Errorf("process %d is still alive", pid)
}

// alive reports whether a process runs; one that ended but was not yet waited for by its new parent does not.
func alive(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		state := strings.TrimSpace(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
	}
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}
