// Package model defines what a loaded language model is to the engine: a cache of sequences and one forward pass over
// a flat batch of nodes. Architectures live in sub-packages (llama).
//
// The package knows nothing of text, sampling or speculation. Plain decoding is one node, prefill a chain of nodes,
// a draft tree a tree of nodes: one path for all.
package model

// Config describes a loaded model.
type Config struct {
	Arch                                                string // "llama"
	Name                                                string // general.name of the file
	Quant                                               string // dominant weight type, e.g. "Q4_1"
	Layers, Hidden, Heads, KVHeads, HeadDim, FFN, Vocab int
	Context                                             int // longest sequence the weights were trained for
	Params                                              int64
}

// Node is one row of a forward pass: a token at an absolute position of a sequence.
//
// Parent is the index in the same batch of the node before it, or -1 when that is the sequence's last committed
// token. Pos must be Len(Seq) + depth. Parents precede children. Seq values of different sequences may be mixed.
type Node struct {
	Seq    int
	Token  int32
	Pos    int
	Parent int
	Want   bool // the logits of this row are needed
}

// Runner is a model in memory with room for several sequences. It is not safe for concurrent use: the engine's loop
// is its only caller.
//
// Bits: the logits of a node depend on the tokens of its own path and on nothing else: not on the batch it came in,
// its place in it, the number of threads, or how the path was cut into forward passes.
type Runner interface {
	Config() Config
	MaxSeqs() int  // sequences 0..MaxSeqs-1 exist
	MaxNodes() int // largest batch of one Forward
	MaxLen() int   // longest sequence

	// Reserve makes sure that seq can grow to n committed tokens plus one batch, or fails (no memory left for keys
	// and values).
	Reserve(seq, n int) error

	// Forward computes all nodes of a batch. Nothing is committed by it. An invalid batch is an error.
	Forward(batch []Node) error
	// Logits is the row of batch[i] of the last Forward, Vocab long; nil when Want was false. Valid until the next Forward.
	Logits(i int) []float32
	// Commit appends nodes of the last Forward, given as batch indices in path order, to seq's committed tokens.
	// Nodes not committed before the next Forward are gone.
	Commit(seq int, path []int)
	// Len is the number of committed tokens of seq.
	Len(seq int) int
	// Truncate forgets all but the first n committed tokens of seq; n = 0 frees its memory.
	Truncate(seq, n int)

	Close() error
}
