// Package host tells what machine this is: the fingerprint that goes into every result, and CPU use of the machine
// and of process trees. Shared by both halves; knows nothing of servers or models.
package host

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
