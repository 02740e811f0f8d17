package llama

import (
	"encoding/binary"
	"fmt"
	"sync"

	"treeline/internal/infer/gguf"
	"treeline/internal/infer/kernel"
	"treeline/internal/infer/model/arena"
	"treeline/internal/infer/quant"
)

// source is a matrix to pack: one tensor, or several below each other.
type source struct {
	tensors []gguf.Tensor
	at      []int // first packed row of each tensor
	rows    int   // packed rows
	cols    int
	heads   int // rows of heads of this dimension are put back from GGUF's order of rotation; 0: rows as they are
	to      *matrix
}

// packWeights packs all weights into one block, several workers at once.
func (m *Model) packWeights(w *tensors, opts Options) error {
	list, err := m.sources(w)
	if err != nil {
		return err
	}
	kinds := make([]kernel.Kind, len(list))
	total := 0
	for i, s := range list {
		kinds[i] = packedKind(s.tensors, opts.Weights)
		total += roundUp(kernel.PackedBytes(kinds[i], s.rows, s.cols)+kernel.Guard, 4096)
	}
	if opts.MemLimit > 0 && int64(total) >= opts.MemLimit {
		return fmt.Errorf("the weights take %.1f MiB, the memory limit is %.1f MiB: raise the memory limit", mib(int64(total)), mib(opts.MemLimit))
	}
	if m.packed, err = arena.New(total); err != nil {
		return err
	}
	at := 0
	for i, s := range list {
		n := roundUp(kernel.PackedBytes(kinds[i], s.rows, s.cols)+kernel.Guard, 4096)
		packed, err := kernel.NewMatrix(kinds[i], s.rows, s.cols, m.packed.Bytes()[at:at+n])
		if err != nil {
			return fmt.Errorf("tensor %s: %w", s.tensors[0].Name, err)
		}
		*s.to = matrix{packed}
		at += n
	}
	if err := packAll(list, opts.Threads); err != nil {
		return err
	}
	if w.tied {
		m.embedding = m.head
	}
	for i := range m.layers {
		l := &m.layers[i]
		for _, a := range []matrix{l.q, l.k, l.v} {
			l.qkvKinds[a.Kind] = true
		}
	}
	return nil
}

// sources lists the matrices in the order in which a pass reads them, and reads the norms.
func (m *Model) sources(w *tensors) ([]source, error) {
	var list []source
	add := func(to *matrix, heads int, t gguf.Tensor) {
		list = append(list, source{[]gguf.Tensor{t}, []int{0}, int(t.Dims[1]), int(t.Dims[0]), heads, to})
	}
	norm := func(t gguf.Tensor) []float32 {
		v := make([]float32, m.dim.hidden)
		if err := quant.Dequantize(v[:m.p.hidden], t.Type, t.Data); err != nil {
			panic("llama: invariant: bound tensor " + t.Name + ": " + err.Error())
		}
		return v
	}
	m.layers = make([]layer, m.p.layers)
	for i, t := range w.layers {
		l := &m.layers[i]
		l.attnNorm, l.ffnNorm = norm(t.attnNorm), norm(t.ffnNorm)
		add(&l.q, m.p.headDim, t.q)
		add(&l.k, m.p.headDim, t.k)
		add(&l.v, 0, t.v)
		add(&l.o, 0, t.o)
		up := kernel.GatedRows(m.p.ffn)
		list = append(list, source{[]gguf.Tensor{t.gate, t.up}, []int{0, up}, 2 * up, m.p.hidden, 0, &l.gateUp})
		add(&l.down, 0, t.down)
	}
	m.norm = norm(w.norm)
	add(&m.head, 0, w.head)
	if !w.tied {
		add(&m.embedding, 0, w.embed)
	}
	return list, nil
}

// packedKind is the form in which tensors are packed together.
func packedKind(list []gguf.Tensor, weights Weights) kernel.Kind {
	if weights == Float32 {
		return kernel.F32
	}
	for _, t := range list[1:] {
		if t.Type != list[0].Type {
			return kernel.F32 // of different types: no form holds both
		}
	}
	switch list[0].Type {
	case gguf.F16:
		return kernel.F16
	case gguf.Q8_0:
		return kernel.Q8_0
	case gguf.Q4_0, gguf.Q4_1:
		return kernel.Q4_1
	}
	return kernel.F32
}

// packAll packs the sources, panels of one matrix by one worker at a time.
func packAll(list []source, workers int) error {
	jobs := make(chan int)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for j := range jobs {
				if err := list[j].pack(); err != nil && errs[i] == nil {
					errs[i] = err
				}
			}
		})
	}
	for j := len(list) - 1; j >= 0; j-- { // the largest, the head, is last in the list
		jobs <- j
	}
	close(jobs)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *source) pack() error {
	floats := make([]float32, s.cols)
	block := make([]byte, kernel.Q4_1.RowBytes(s.cols))
	for i, t := range s.tensors {
		rowBytes, err := quant.RowBytes(t.Type, s.cols)
		if err != nil {
			return fmt.Errorf("tensor %s: %w", t.Name, err)
		}
		for r := range int(t.Dims[1]) {
			src := t.Data[s.fileRow(r)*rowBytes:][:rowBytes]
			switch {
			case s.to.Kind == kernel.F32:
				if err := quant.Dequantize(floats, t.Type, src); err != nil {
					return fmt.Errorf("tensor %s: %w", t.Name, err)
				}
				s.to.PackFloats(s.at[i]+r, floats)
			case t.Type == gguf.Q4_0:
				if err := widenQ4(block, src); err != nil {
					return fmt.Errorf("tensor %s: %w", t.Name, err)
				}
				s.to.Pack(s.at[i]+r, block)
			default:
				s.to.Pack(s.at[i]+r, src)
			}
		}
	}
	return nil
}

// fileRow is where row r lies in the file. GGUF stores the rows of query and key heads so that elements 2i and 2i+1 are
// rotated together; the kernels rotate i with i + half.
func (s *source) fileRow(r int) int {
	if s.heads == 0 {
		return r
	}
	head, i, half := r/s.heads*s.heads, r%s.heads, s.heads/2
	return head + i%half*2 + i/half
}

// widenQ4 turns Q4_0 blocks (d, q: d*(q-8)) into Q4_1 blocks (d, m = -8d: d*q + m). Multiplying a half float by 8 is
// exact unless it overflows.
func widenQ4(dst, src []byte) error {
	for ; len(src) > 0; dst, src = dst[20:], src[18:] {
		d := binary.LittleEndian.Uint16(src)
		copy(dst, src[:2])
		m, ok := timesMinus8(d)
		if !ok {
			return fmt.Errorf("a Q4_0 scale of %v is too large", quant.Half(d))
		}
		binary.LittleEndian.PutUint16(dst[2:], m)
		copy(dst[4:20], src[2:18])
	}
	return nil
}

// timesMinus8 is -8 times a half float, exactly; false when it does not fit.
func timesMinus8(h uint16) (uint16, bool) {
	sign, exp, frac := h&0x8000^0x8000, int(h>>10&31), int(h&1023)
	if exp == 0 { // subnormal: 8*frac, normalised
		frac *= 8
		exp = 1
		for frac >= 2048 {
			frac, exp = frac/2, exp+1
		}
		if frac < 1024 {
			return sign | uint16(frac), true
		}
		return sign | uint16(exp)<<10 | uint16(frac-1024), true
	}
	if exp+3 > 30 {
		return 0, false
	}
	return sign | uint16(exp+3)<<10 | uint16(frac), true
}
