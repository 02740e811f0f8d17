// Package sharedtest finds test data that lives outside the repository: goldens, recordings and fixtures too large or
// not ours to commit. Tests that need it skip where it is absent. It is not used outside tests.
package sharedtest

import (
	"os"
	"path/filepath"
	"testing"
)

// Root is the folder of the repository's go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatalf("find the repository: %v", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("find the repository: no go.mod above the test's folder")
		}
		dir = parent
	}
}

// Dir is the folder of shared test data: TREELINE_SHARED, else the folder shared next to the repository. The test is
// skipped when there is none.
func Dir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("TREELINE_SHARED")
	if dir == "" {
		dir = filepath.Join(filepath.Dir(Root(t)), "shared")
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		t.Skipf("no shared test data at %s (set TREELINE_SHARED to its folder)", dir)
	}
	return dir
}
