//go:build !unix

package kerneltest

import "testing"

// fence is plain memory where pages cannot be protected.
func fence[T byte | float32](_ testing.TB, n int, _ bool) []T { return make([]T, n) }
