// Package launch runs a server as a child process: it starts it with its output in a log file, waits until it
// answers, and stops it with everything it started. It knows nothing of kinds of servers, of load or of results; an
// experiment uses it for every start of every arm.
package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Command says what to start. Args[0] is looked up in PATH unless it holds a slash.
type Command struct {
	Args []string
	Env  []string // KEY=VALUE, added to our own environment; later ones win
	Dir  string   // working folder, "" is ours
	Log  string   // file that takes standard output and error; it is created or emptied
}

// Server is a started child. Stop must be called, also after an error from WaitReady.
type Server struct {
	args   []string
	log    string
	pid    int
	exited chan struct{} // closed when the child has been waited for

	mu    sync.Mutex
	state string // how it ended, "" while it runs
}

// Start starts the command in a process group of its own, so that a Ctrl-C in the terminal reaches only us and the
// child is stopped in order. On Linux the kernel kills the child when we die, however we die.
func Start(c Command) (*Server, error) {
	if len(c.Args) == 0 {
		return nil, fmt.Errorf("start server: the command is empty")
	}
	if err := os.MkdirAll(filepath.Dir(c.Log), 0o755); err != nil {
		return nil, fmt.Errorf("create log of %s: %w", c.Args[0], err)
	}
	log, err := os.Create(c.Log)
	if err != nil {
		return nil, fmt.Errorf("create log of %s: %w", c.Args[0], err)
	}
	defer log.Close() // the child holds its own descriptor
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Env = append(cmd.Environ(), c.Env...)
	cmd.Dir = c.Dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttributes()
	s := &Server{args: c.Args, log: c.Log, exited: make(chan struct{})}
	started := make(chan error)
	go s.own(cmd, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start server %s: %w; is the program installed and its path right?", c.Args[0], err)
	}
	return s, nil
}

// own starts the child and waits for it on one locked thread: Linux sends the parent-death signal when the *thread*
// that started the child ends, and Go ends threads at will unless they are locked.
func (s *Server) own(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	if err == nil {
		s.pid = cmd.Process.Pid
	}
	started <- err
	if err != nil {
		return
	}
	_ = cmd.Wait() // an exit status is not our failure; the state tells it
	s.mu.Lock()
	s.state = cmd.ProcessState.String()
	s.mu.Unlock()
	close(s.exited)
}

// Pid is the child's process id, the leader of its process group.
func (s *Server) Pid() int { return s.pid }

// Log is the path of the file that holds the child's output.
func (s *Server) Log() string { return s.log }

// Exited is closed when the child has ended.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// ExitError says how the child ended, with the telling lines of its log; nil while it runs.
func (s *Server) ExitError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == "" {
		return nil
	}
	return &ExitError{Command: strings.Join(s.args, " "), State: s.state, Log: s.log, Lines: tellingLines(s.log)}
}

// Stop ends the child and its whole process group: a request to terminate, and a kill when grace is over. It returns
// when the child is gone, and is harmless when it already was.
func (s *Server) Stop(grace time.Duration) {
	// What the child started may outlive it, so the group is killed in the end in any case.
	defer killGroup(s.pid)
	select {
	case <-s.exited:
		return
	default:
	}
	terminateGroup(s.pid)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-s.exited:
		return
	case <-timer.C:
	}
	killGroup(s.pid)
	<-s.exited
}
