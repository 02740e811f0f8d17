package arena

import "golang.org/x/sys/unix"

// adviseHuge asks for huge pages. A kernel without them refuses, and nothing is lost but speed.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }

// noReserve keeps the system from counting memory that may never be touched.
const noReserve = unix.MAP_NORESERVE
