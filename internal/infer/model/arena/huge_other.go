//go:build !linux

package arena

func adviseHuge([]byte) {}

const noReserve = 0
