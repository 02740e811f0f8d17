package host

import "golang.org/x/sys/unix"

func collectSystem(fp *Fingerprint) {
	fp.Kernel, _ = unix.Sysctl("kern.osrelease")
	fp.CPU, _ = unix.Sysctl("machdep.cpu.brand_string")
	if bytes, err := unix.SysctlUint64("hw.memsize"); err == nil {
		fp.MemoryMB = int(bytes >> 20)
	}
}
