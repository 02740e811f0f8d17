package launch

import "syscall"

// childAttributes puts the child into its own process group and has it killed when we die.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
