package certify

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"time"

	"treeline/internal/measure/simserver"
)

// Clock is a server of events that carry the moment of their sending.
type Clock struct {
	URL  string
	pid  int // of its process; 0 when it runs in this one
	stop func()
}

// Close ends the server.
func (c *Clock) Close() { c.stop() }

// StartClock starts the server in a process of its own: executable is this program, whose command simulate it is. The
// child ends when we do, however we end, because its standard input does. Without an executable the server runs in
// this process, which is good enough for tests only: it shares the scheduler with the client it measures.
func StartClock(executable string) (*Clock, error) {
	if executable == "" {
		return inProcess()
	}
	cmd := exec.Command(executable, "simulate", "--mode", "clock", "--exit-with-stdin")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the clock: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the clock: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the clock: %w", err)
	}
	stop := func() {
		in.Close()
		kill := time.AfterFunc(2*time.Second, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		_ = cmd.Wait() // it has nothing to tell
	}
	line := make(chan string, 1)
	go func() {
		first, _ := bufio.NewReader(out).ReadString('\n')
		line <- first
		_, _ = io.Copy(io.Discard, out)
	}()
	select {
	case first := <-line:
		if url, ok := strings.CutPrefix(strings.TrimSpace(first), "listening on "); ok {
			return &Clock{URL: url, pid: cmd.Process.Pid, stop: stop}, nil
		}
		stop()
		return nil, fmt.Errorf("start the clock: %s simulate said %q", executable, first)
	case <-time.After(10 * time.Second):
		stop()
		return nil, errors.New("start the clock: no address after ten seconds")
	}
}

func inProcess() (*Clock, error) {
	spec := simserver.Default()
	spec.Mode = simserver.ModeClock
	s, err := simserver.New(spec)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the clock: %w", err)
	}
	go func() { _ = s.Serve(l) }() // it ends by Close
	return &Clock{URL: "http://" + l.Addr().String(), stop: s.Close}, nil
}
