package kernel

import "unsafe"

// ActBytes is the memory that rows packed activations of cols columns need.
func (s *Set) ActBytes(k Kind, rows, cols int) int {
	t := s.tile(rows)
	return ceil(cols, Chunk) * (Chunk / k.unit()) * ceil(rows, t) * t * s.record(k)
}

// TmpBytes is the scratch memory that PackActs needs for a range of chunks.
func (s *Set) TmpBytes(k Kind, chunks int) int {
	return s.maxTile * chunks * (Chunk / k.unit()) * s.record(k)
}

// PackActs prepares activations for MatMul with a matrix of kind k: it rounds them to int8 per 32 columns (integer
// kinds) and orders them as the kernels eat them. x is [rows] of ldx floats with at least c1*64 valid columns, of which
// chunks [c0,c1) are packed, so threads can share the work; dst holds ActBytes and is the same for all of them. tmp
// holds TmpBytes(k, c1-c0).
func (s *Set) PackActs(k Kind, dst []byte, x []float32, ldx, rows, cols, c0, c1 int, tmp []byte) {
	if c1 <= c0 {
		return
	}
	if !(rows > 0 && c0 >= 0 && c1 <= ceil(cols, Chunk) && ldx >= c1*Chunk && len(x) >= (rows-1)*ldx+c1*Chunk &&
		len(dst) >= s.ActBytes(k, rows, cols) && len(tmp) >= s.TmpBytes(k, c1-c0)) {
		misfit("PackActs", rows, cols, c0, c1, ldx, len(x), len(dst), len(tmp))
	}
	t, rec, per := s.tile(rows), s.record(k), Chunk/k.unit()
	tiles, u0, n := ceil(rows, t), c0*per, (c1-c0)*per
	stride := tiles * t * rec // from unit to unit
	for tile := range tiles {
		d := unsafe.Pointer(&dst[(u0*tiles+tile)*t*rec])
		have := min(t, rows-tile*t)
		first := x[tile*t*ldx+c0*Chunk:]
		switch {
		case t == 1:
			s.records(k, d, stride, first, n)
		case !k.Integer() && have == t:
			s.interleave(t, d, stride, unsafe.Pointer(&first[0]), ldx*4, rec, n, rec)
		default:
			for r := range have {
				s.records(k, unsafe.Pointer(&tmp[r*n*rec]), rec, first[r*ldx:], n)
			}
			s.interleave(t, d, stride, unsafe.Pointer(&tmp[0]), n*rec, rec, n, rec)
		}
	}
}

// records writes the units of one row, stride bytes apart.
func (s *Set) records(k Kind, dst unsafe.Pointer, stride int, x []float32, n int) {
	if k.Integer() {
		s.quant[k]((*byte)(dst), stride, &x[0], n)
		return
	}
	for u := range n {
		d := unsafe.Slice((*float32)(unsafe.Add(dst, u*stride)), 16)
		copy(d, x[u*16:u*16+16])
	}
}

// interleave turns the records of t rows (2 to 4, rstride bytes apart, units ustride apart) into tiles [dword][t].
func (s *Set) interleave(t int, dst unsafe.Pointer, dstride int, src unsafe.Pointer, rstride, ustride, n, rec int) {
	f := s.interleave4
	switch t {
	case 2:
		f = s.interleave2
	case 3:
		f = s.interleave3
	}
	f((*byte)(dst), dstride, (*byte)(src), rstride, ustride, n, rec/16)
}
