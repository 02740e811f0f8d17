package launch

import (
	"os"
	"syscall"
)

// childAttributes gives the child a console group of its own, so that Ctrl-C reaches only us.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminateGroup does nothing: Windows has no polite signal for a process without a window. Stop kills after grace.
func terminateGroup(int) {}

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
