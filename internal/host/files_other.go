//go:build !unix

package host

// FileLimit is how many files and connections this process may have open at a time; 0 is unknown.
func FileLimit() int { return 0 }
