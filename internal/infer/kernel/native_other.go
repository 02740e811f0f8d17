//go:build !amd64 || purego

package kernel

func native() []*Set { return nil }

//go:noinline
func pause(n int) {
	for range n {
	}
}
