//go:build !unix

package arena

// reserve falls back to the Go heap where there is no mmap; the collector does not scan it, as it holds no pointers.
func reserve(n int) ([]byte, error) { return make([]byte, n), nil }

func release([]byte) error { return nil }
