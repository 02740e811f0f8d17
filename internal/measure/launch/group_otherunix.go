//go:build unix && !linux

package launch

import "syscall"

// childAttributes puts the child into its own process group. This system can't tie its life to ours: a child of a
// killed parent goes on.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
