//go:build unix

package host

import "syscall"

// FileLimit is how many files and connections this process may have open at a time; 0 is unknown. Go has raised it to
// what the system allows without privileges.
func FileLimit() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil || l.Cur > 1<<30 {
		return 0
	}
	return int(l.Cur)
}
