package arena

import "golang.org/x/sys/unix"

// adviseHuge asks for huge pages. A kernel without them refuses, and nothing is lost but speed.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
