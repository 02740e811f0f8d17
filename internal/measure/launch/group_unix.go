//go:build unix

package launch

import "syscall"

// terminateGroup and killGroup signal the process group that pid leads. A group that is gone is no error.
func terminateGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
