//go:build !linux

package host

// ReadCPU returns ErrNoCPUTimes on this system.
func ReadCPU(...int) (CPUTimes, error) { return CPUTimes{}, ErrNoCPUTimes }
