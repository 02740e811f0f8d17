package llama

import (
	"unsafe"

	"treeline/internal/infer/kernel"
	"treeline/internal/infer/model/arena"
)

// buffers hold the intermediate results of a pass, [node][columns] each.
type buffers struct {
	x, scaled, last []float32 // residual stream; scaled rows; rows with logits
	q, k, v, mix    []float32 // heads; output of attention
	act             []float32 // output of the gated feed-forward
	logits          []float32 // [wanted row][vocab]
	cos, sin        []float32 // [node][pair] rotation
	squares         []float32 // [pair of panels][node] sums of squares
	normed          [4][]byte // packed norm, by kind of the matrix that reads it
	packed          []byte    // packed output of attention or feed-forward
}

// worker is the memory of one worker.
type worker struct {
	tid  int
	tile tile
	path []int // scratch slots of a node's path

	sums          []float32 // scratch of the kernels
	tmp           []byte    // scratch of packing
	q, out        []float32 // [query][head dimension]
	packedQ       []byte
	weights       []float32 // [query][position]
	packedW       []byte
	slots         []float32 // [query][scratch slot] scores
	branchWeights []float32 // [query][node of the path]
	branchValues  []float32 // [head dimension/16][node of the path][16]
}

// carver cuts pieces from a block of memory. With a nil block it only counts, so the same code finds the size and then
// makes the cuts.
type carver struct {
	mem  []byte
	used int
}

func (c *carver) bytes(n int) []byte {
	at := c.used
	c.used = roundUp(at+n, 64)
	if c.mem == nil {
		return nil
	}
	return c.mem[at : at+n : at+n]
}

func (c *carver) floats(n int) []float32 {
	b := c.bytes(n * 4)
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// allocate makes the buffers of the model and its workers.
func (m *Model) allocate() error {
	var size carver
	m.carve(&size)
	block, err := arena.New(size.used)
	if err != nil {
		return err
	}
	m.block = block
	m.carve(&carver{mem: block.Bytes()})
	return nil
}

func (m *Model) carve(c *carver) {
	d, hd := m.dim, m.p.headDim
	m.buf = buffers{
		x: c.floats(maxNodes * d.hidden), scaled: c.floats(maxNodes * d.hidden), last: c.floats(maxNodes * d.hidden),
		q: c.floats(maxNodes * d.heads), k: c.floats(maxNodes * d.kvHeads), v: c.floats(maxNodes * d.kvHeads),
		mix: c.floats(maxNodes * d.heads), act: c.floats(maxNodes * d.ffn),
		cos: c.floats(maxNodes * hd / 2), sin: c.floats(maxNodes * hd / 2),
		squares: c.floats(d.hidden / 16 * maxNodes),
	}
	kinds, wide := m.kinds(), max(d.heads, d.ffn)
	packed, tmp := 0, 0
	for k := range kinds {
		if kinds[k] {
			// Rows are padded to whole tiles, of at most four rows.
			m.buf.normed[k] = c.bytes(m.set.ActBytes(kernel.Kind(k), maxNodes+4, d.hidden))
			packed = max(packed, m.set.ActBytes(kernel.Kind(k), maxNodes+4, wide))
			tmp = max(tmp, m.set.TmpBytes(kernel.Kind(k), max(wide, d.hidden)/kernel.Chunk))
		}
	}
	m.buf.packed = c.bytes(packed)
	const rows = kernel.QueryRows
	for i := range m.workers {
		m.workers[i] = worker{
			tid: i, path: m.workers[i].path,
			sums: c.floats(max(kernel.ScratchFloats, kernel.QueryScratch)), tmp: c.bytes(tmp),
			q: c.floats(rows * hd), out: c.floats(rows * hd), packedQ: c.bytes(kernel.QueryBytes(hd)),
			weights: c.floats(rows * m.weightsLen), packedW: c.bytes(kernel.QueryBytes(max(m.weightsLen, scratchSlots))),
			slots: c.floats(rows * scratchSlots), branchWeights: c.floats(rows * scratchSlots),
			branchValues: c.floats(scratchSlots * hd),
		}
	}
	m.buf.logits = c.floats(maxNodes * d.vocab) // last: only the rows that are wanted are ever touched
}

// kinds are the kinds of all matrices of the model.
func (m *Model) kinds() kindSet {
	s := m.head.kindSet()
	for i := range m.layers {
		l := &m.layers[i]
		for _, a := range []matrix{l.q, l.k, l.v, l.o, l.gateUp, l.down} {
			s[a.Kind] = true
		}
	}
	return s
}
