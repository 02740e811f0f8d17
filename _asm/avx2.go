package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// recAVX2 is a record's bytes: activations of a row and unit. Q8 keeps its activations as int16.
var recAVX2 = map[string]int{f32: 64, f16: 64, bf16: 64, q8: 144, q41: 80, q40: 80}

func avx2() {
	for _, kind := range []string{f32, f16, bf16, q8, q41, q40} {
		for _, s := range [][2]int{{4, 1}, {2, 1}, {1, 1}, {2, 2}, {1, 2}, {1, 3}, {1, 4}} {
			gemmAVX2(kind, s[0], s[1])
		}
	}
	quantAVX2(q8)
	quantAVX2(q41)
	quantAVX2(q40)
	interleave(2)
	interleave(3)
	interleave(4)
	opsAVX2()
}

// tileAVX2 is a register tile of P panels (two ymm each) x T rows: at most eight sums.
type tileAVX2 struct {
	kind       string
	P, T       int
	pending    []func() // additions that follow two multiplications (1 to 2 % over one by one on Zen 3)
	tmp        int
	lineAhead  int // bytes of prefetch distance
	activation int // offset of scales in a record
}

func (g *tileAVX2) acc(p, h, t int) reg.VecPhysical { return y[(t*g.P+p)*2+h] }
func (g *tileAVX2) weight(p, h int) reg.VecPhysical { return y[max(8, 2*g.P*g.T)+p*2+h] }
func (g *tileAVX2) wmem(p, h, line int) Mem         { return strided(rWP, rPS, rPS3, p, line*64+h*32) }
func (g *tileAVX2) cmem(p, h, t int) Mem            { return strided(rCP, rCS, rCS3, p, t*64+h*32) }

func (g *tileAVX2) each(f func(p, h int)) {
	for p := 0; p < g.P; p++ {
		for h := 0; h < 2; h++ {
			f(p, h)
		}
	}
}

func (g *tileAVX2) prefetch(line int) {
	for p := 0; p < g.P; p++ {
		PREFETCHT0(strided(rWP, rPS, rPS3, p, line*64+g.lineAhead))
	}
}

func (g *tileAVX2) flush() {
	for _, f := range g.pending {
		f()
	}
	g.pending = nil
}

func gemmAVX2(kind string, P, T int) {
	g := &tileAVX2{kind: kind, P: P, T: T, lineAhead: unitBytes[kind]}
	if isFloat(kind) {
		g.lineAhead = 4 * unitBytes[kind]
	}
	mask := g.mask()
	setup := func() {
		switch kind {
		case q8:
			VMOVDQU(splat("lowbyte", 0x00ff00ff), mask)
		case q41, q40:
			VMOVDQU(splat("nibble", 0x0f0f0f0f), mask)
		case bf16:
			VMOVDQU(splat("highhalf", 0xffff0000), mask)
		}
	}
	body := g.integer
	if isFloat(kind) {
		body = g.float
	}
	gemmLoops(fmt.Sprintf("Gemm%sP%dT%d", kind, P, T), kind, P, T, recAVX2[kind], setup, body)
}

// mask is the register of the unpacking mask. Tiles of four rows of floats keep their rows in y12 to y15.
func (g *tileAVX2) mask() reg.VecPhysical {
	if isFloat(g.kind) && g.T == 4 {
		return y[11]
	}
	return y[15]
}

// float: one fused multiply-add per column, in column order.
func (g *tileAVX2) float() {
	for t := 0; t < g.T; t++ {
		g.each(func(p, h int) { VMOVUPS(g.cmem(p, h, t), g.acc(p, h, t)) })
	}
	for k := 0; k < 16; k++ {
		if g.kind == f32 || k%2 == 0 {
			g.prefetch(k * unitBytes[g.kind] / 1024)
		}
		for t := 0; t < g.T; t++ {
			VBROADCASTSS(Mem{Base: rA, Disp: (k*g.T + t) * 4}, y[12+t])
		}
		g.each(func(p, h int) {
			w := y[8+(p*2+h)%4]
			switch {
			case g.kind == f32:
				VMOVUPS(g.wmem(p, h, k), w)
			case g.kind == f16:
				VCVTPH2PS(strided(rWP, rPS, rPS3, p, k*32+h*16), w)
			case k%2 == 0: // a line holds column pairs: the even column is the low half of a dword
				VMOVDQU(g.wmem(p, h, k/2), w)
				VPSLLD(Imm(16), w, w)
			default:
				VPAND(g.wmem(p, h, k/2), g.mask(), w)
			}
			for t := 0; t < g.T; t++ {
				VFMADD231PS(y[12+t], w, g.acc(p, h, t))
			}
		})
	}
	for t := 0; t < g.T; t++ {
		g.each(func(p, h int) { VMOVUPS(g.acc(p, h, t), g.cmem(p, h, t)) })
	}
}

// integer: exact sums over a block of 32 columns, then the float tail that the definition gives.
//
// Q8: the even and the odd bytes of a line of weight+128 become 16-bit lanes, multiplied in pairs by int16
// activations; the sum starts at -128 * the activations' sum. Q41: nibbles times int8 in 16-bit lanes over the whole
// block: at most 16*15*127 = 30480, so nothing saturates. Q40 is Q41 with sums that start at -8 * the activations' sum,
// as two 16-bit lanes.
func (g *tileAVX2) integer() {
	data := recAVX2[g.kind]*g.T - 16*g.T // then scales [2][T] f32, then corrections [2][T]
	lines := map[string]int{q8: 8, q41: 4, q40: 4}[g.kind]
	for b := 0; b < 2; b++ {
		if g.kind != q41 {
			for t := 0; t < g.T; t++ {
				VPBROADCASTD(Mem{Base: rA, Disp: data + 8*g.T + (b*g.T+t)*4}, g.acc(0, 0, t))
				g.each(func(p, h int) {
					if p+h > 0 {
						VMOVDQA(g.acc(0, 0, t), g.acc(p, h, t))
					}
				})
			}
		}
		for s := 0; s < lines; s++ {
			line := b*lines + s
			g.prefetch(line)
			lo, hi := 2*line, 2*line+1 // Q8: int16 pairs of columns (0,2) and (1,3)
			if g.kind != q8 {
				lo, hi = b*8+s, b*8+s+4
			}
			if g.T == 1 {
				g.lineSingle(line, lo, hi, g.kind == q41 && s == 0)
			} else {
				g.lineTile(line, lo, hi, g.kind == q41 && s == 0)
			}
		}
		g.flush()
		g.blockEnd(b, data, lines*128)
	}
	g.prefetch(unitBytes[g.kind]/64 - 1)
	if g.kind == q41 {
		g.prefetch(unitBytes[g.kind]/64 - 2)
	}
}

// lineSingle multiplies a line of each panel by one row: the weights live in two registers only.
func (g *tileAVX2) lineSingle(line, lo, hi int, first bool) {
	a0, a1, mask := y[12], y[11], y[15]
	VPBROADCASTD(Mem{Base: rA, Disp: lo * 4}, a0)
	VPBROADCASTD(Mem{Base: rA, Disp: hi * 4}, a1)
	g.each(func(p, h int) {
		w, v, acc := y[8+h], y[13+h], g.acc(p, h, 0)
		VMOVDQU(g.wmem(p, h, line), w)
		VPAND(w, mask, v)
		if g.kind == q8 {
			VPSRLW(Imm(8), w, w)
			VPMADDWD(a0, v, v)
			VPMADDWD(a1, w, w)
			VPADDD(v, acc, acc)
			VPADDD(w, acc, acc)
			return
		}
		VPSRLW(Imm(4), w, w)
		VPAND(w, mask, w)
		if first {
			VPMADDUBSW(a0, v, acc)
		} else {
			VPMADDUBSW(a0, v, v)
			VPADDW(v, acc, acc)
		}
		VPMADDUBSW(a1, w, w)
		VPADDW(w, acc, acc)
	})
}

// lineTile multiplies a line of each panel by T rows.
func (g *tileAVX2) lineTile(line, lo, hi int, first bool) {
	mask := y[15]
	g.each(func(p, h int) { VPAND(g.wmem(p, h, line), mask, g.weight(p, h)) })
	g.dot(lo, first)
	g.each(func(p, h int) {
		VMOVDQU(g.wmem(p, h, line), g.weight(p, h))
		if g.kind == q8 {
			VPSRLW(Imm(8), g.weight(p, h), g.weight(p, h))
		} else {
			VPSRLW(Imm(4), g.weight(p, h), g.weight(p, h))
			VPAND(g.weight(p, h), mask, g.weight(p, h))
		}
	})
	g.dot(hi, false)
}

// dot adds the unpacked weights times dword d of the activations.
func (g *tileAVX2) dot(d int, first bool) {
	for t := 0; t < g.T; t++ {
		a := y[12]
		VPBROADCASTD(Mem{Base: rA, Disp: (d*g.T + t) * 4}, a)
		g.each(func(p, h int) {
			g.tmp ^= 1
			v, acc := y[13+g.tmp], g.acc(p, h, t)
			switch {
			case g.kind == q8:
				VPMADDWD(a, g.weight(p, h), v)
				g.pending = append(g.pending, func() { VPADDD(v, acc, acc) })
			case first:
				VPMADDUBSW(a, g.weight(p, h), acc)
			default:
				VPMADDUBSW(a, g.weight(p, h), v)
				g.pending = append(g.pending, func() { VPADDW(v, acc, acc) })
			}
			if len(g.pending) == 2 {
				g.flush()
			}
		})
	}
}

// blockEnd: c = fma(float(sum) * wscale, ascale, c), and for Q41 c = fma(wmin, ascale * sum of a, c).
func (g *tileAVX2) blockEnd(b, data, scales int) {
	for p := 0; p < g.P; p++ {
		for h := 0; h < 2; h++ {
			VCVTPH2PS(strided(rWP, rPS, rPS3, p, scales+b*32+h*16), y[8+h])
			if g.kind == q41 {
				VCVTPH2PS(strided(rWP, rPS, rPS3, p, scales+64+b*32+h*16), y[10+h])
			}
		}
		for t := 0; t < g.T; t++ {
			VBROADCASTSS(Mem{Base: rA, Disp: data + (b*g.T+t)*4}, y[12])
			if g.kind == q41 {
				VBROADCASTSS(Mem{Base: rA, Disp: data + 8*g.T + (b*g.T+t)*4}, y[13])
			}
			for h := 0; h < 2; h++ {
				a := g.acc(p, h, t)
				if g.kind != q8 {
					VPMADDWD(splat("ones16", 0x00010001), a, a)
				}
				VCVTDQ2PS(a, a)
				VMULPS(y[8+h], a, a)
				VFMADD213PS(g.cmem(p, h, t), y[12], a)
				if g.kind == q41 {
					VFMADD231PS(y[13], y[10+h], a)
				}
				VMOVUPS(a, g.cmem(p, h, t))
			}
		}
	}
}
