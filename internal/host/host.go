// Package host tells what machine this is: the fingerprint that goes into every result, and CPU use of the machine
// and of process trees. Shared by both halves; knows nothing of servers or models.
package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Fingerprint identifies the machine that a result was taken on. Two results are comparable without a caveat only
// when their Machine values agree.
type Fingerprint struct {
	Machine  string   `json:"machine"` // hash of stable hardware facts; no serial numbers
	OS       string   `json:"os"`
	Kernel   string   `json:"kernel"`
	CPU      string   `json:"cpu"`
	Cores    int      `json:"cores"`
	ISA      []string `json:"isa"` // the features our kernels care about, e.g. "avx2", "avx512vnni"
	MemoryMB int      `json:"memory_mb"`
	Governor string   `json:"governor,omitempty"`
	GPUs     []string `json:"gpus,omitempty"`
	Treeline string   `json:"treeline"` // our version
	Go       string   `json:"go"`
}

// Collect reads the fingerprint of this machine. It never fails: a fact that this system does not tell stays empty.
func Collect() Fingerprint {
	fp := Fingerprint{
		OS:       runtime.GOOS + "/" + runtime.GOARCH,
		Cores:    runtime.NumCPU(),
		ISA:      features(),
		Treeline: Version(),
		Go:       runtime.Version(),
	}
	collectSystem(&fp)
	fp.Machine = machineHash(fp)
	return fp
}

// Summary is the machine in one line, for people.
func (f Fingerprint) Summary() string {
	parts := []string{f.CPU}
	if f.CPU == "" {
		parts[0] = "unknown CPU"
	}
	parts = append(parts, fmt.Sprintf("%d cores", f.Cores))
	if f.Cores == 1 {
		parts[1] = "1 core"
	}
	if f.MemoryMB > 0 {
		parts = append(parts, fmt.Sprintf("%.0f GB memory", float64(f.MemoryMB)/1024))
	}
	if len(f.ISA) > 0 {
		parts = append(parts, strings.Join(f.ISA, " "))
	}
	parts = append(parts, f.GPUs...)
	if system := strings.TrimSpace(f.OS + " " + f.Kernel); system != "" {
		parts = append(parts, system)
	}
	return strings.Join(parts, ", ")
}

// machineHash condenses what stays the same over reboots and upgrades of software: processor, cores, features,
// memory and GPUs. Memory is rounded to GiB because firmware and kernel reserve a little more or less at each boot.
func machineHash(fp Fingerprint) string {
	facts := []string{
		"treeline.machine/1", fp.OS, fp.CPU, fmt.Sprint(fp.Cores), strings.Join(fp.ISA, ","),
		fmt.Sprint((fp.MemoryMB + 512) / 1024), strings.Join(fp.GPUs, ","),
	}
	sum := sha256.Sum256([]byte(strings.Join(facts, "\n")))
	return hex.EncodeToString(sum[:8])
}

// Version is this program's version as the Go toolchain stamped it: the module version, or the commit it was built
// from with "+dirty" when the tree had changes, or "devel".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if revision == "" {
		return "devel"
	}
	return "devel-" + revision[:min(12, len(revision))] + dirty
}
