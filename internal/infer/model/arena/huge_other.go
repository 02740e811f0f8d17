//go:build !linux

package arena

func adviseHuge([]byte) {}
