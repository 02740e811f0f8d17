package host

import "os"

// ReadCPU tells what the processors have done since boot, and how much of it belongs to the process trees of pids.
func ReadCPU(pids ...int) (CPUTimes, error) { return readCPUTimes(os.DirFS("/"), pids) }
