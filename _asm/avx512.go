package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// recAVX512 is a record's bytes: activations of a row and unit.
var recAVX512 = map[string]int{f32: 64, f16: 64, bf16: 64, q8: 80, q41: 80, q40: 80}

func avx512() {
	for _, kind := range []string{f32, f16, bf16, q8, q41, q40} {
		for _, P := range []int{4, 2, 1} {
			for T := 1; T <= 4; T++ {
				gemmAVX512(kind, P, T)
			}
		}
	}
	quantAVX512()
	interleave(2)
	interleave(3)
	interleave(4)
	opsAVX512()
}

// tileAVX512 is a register tile of P panels (one zmm each) x T rows.
type tileAVX512 struct {
	kind      string
	P, T      int
	lineAhead int
}

const maskAVX512 = 31

func (g *tileAVX512) acc(p, t int) reg.VecPhysical    { return z[t*g.P+p] }
func (g *tileAVX512) acc2(p int) reg.VecPhysical      { return z[4+p] } // second sum of single rows: halves the chain
func (g *tileAVX512) low(p int) reg.VecPhysical       { return z[16+p] }
func (g *tileAVX512) high(p int) reg.VecPhysical      { return z[20+p] }
func (g *tileAVX512) wmem(p, off int) Mem             { return strided(rWP, rPS, rPS3, p, off) }
func (g *tileAVX512) cmem(p, t int) Mem               { return strided(rCP, rCS, rCS3, p, t*64) }
func (g *tileAVX512) broadcast(t int) reg.VecPhysical { return z[24+t] }

func (g *tileAVX512) prefetch(off int) {
	for p := 0; p < g.P; p++ {
		PREFETCHT0(g.wmem(p, off+g.lineAhead))
	}
}

func gemmAVX512(kind string, P, T int) {
	g := &tileAVX512{kind: kind, P: P, T: T, lineAhead: 2 * unitBytes[kind]}
	body := g.integer
	if isFloat(kind) {
		body = g.float
		g.lineAhead = 4 * unitBytes[kind]
	}
	setup := func() {
		switch kind {
		case q41, q40:
			VBROADCASTSS(splat("nibble", 0x0f0f0f0f), z[maskAVX512])
		case bf16:
			VBROADCASTSS(splat("highhalf", 0xffff0000), z[maskAVX512])
		}
	}
	gemmLoops(fmt.Sprintf("Gemm%sP%dT%d", kind, P, T), kind, P, T, recAVX512[kind], setup, body)
}

// float: one fused multiply-add per column, in column order.
func (g *tileAVX512) float() {
	for t := 0; t < g.T; t++ {
		for p := 0; p < g.P; p++ {
			VMOVUPS(g.cmem(p, t), g.acc(p, t))
		}
	}
	for k := 0; k < 16; k++ {
		if g.kind == f32 || k%2 == 0 {
			g.prefetch(k * unitBytes[g.kind] / 16)
		}
		for t := 0; t < g.T; t++ {
			VBROADCASTSS(Mem{Base: rA, Disp: (k*g.T + t) * 4}, g.broadcast(t))
		}
		for p := 0; p < g.P; p++ {
			switch g.kind {
			case f32:
				VMOVUPS(g.wmem(p, k*64), g.low(p))
			case f16:
				VCVTPH2PS(g.wmem(p, k*32), g.low(p))
			case bf16: // a line holds column pairs: the even column is the low half of a dword
				if k%2 == 0 {
					VPSLLD(Imm(16), g.wmem(p, k*32), g.low(p))
				} else {
					VPANDD(g.wmem(p, k*32-32), z[maskAVX512], g.low(p))
				}
			}
			for t := 0; t < g.T; t++ {
				VFMADD231PS(g.broadcast(t), g.low(p), g.acc(p, t))
			}
		}
	}
	for t := 0; t < g.T; t++ {
		for p := 0; p < g.P; p++ {
			VMOVUPS(g.acc(p, t), g.cmem(p, t))
		}
	}
}

// integer: exact sums over a block of 32 columns (VPDPBUSD: unsigned weights times signed activations, four columns a
// lane), then the float tail that the definition gives. Sums start at -zero point * the activations' sum (Q8: 128,
// Q40: 8).
func (g *tileAVX512) integer() {
	data := 64 * g.T // then scales [2][T] f32, then corrections [2][T]
	lines := map[string]int{q8: 8, q41: 4, q40: 4}[g.kind]
	for b := 0; b < 2; b++ {
		for t := 0; t < g.T; t++ {
			for p := 0; p < g.P; p++ {
				switch {
				case g.kind == q41:
					VPXORD(g.acc(p, t), g.acc(p, t), g.acc(p, t))
				case p == 0:
					VPBROADCASTD(Mem{Base: rA, Disp: data + 8*g.T + (b*g.T+t)*4}, g.acc(0, t))
				default:
					VMOVDQA64(g.acc(0, t), g.acc(p, t))
				}
			}
		}
		if g.T == 1 {
			for p := 0; p < g.P; p++ {
				VPXORD(g.acc2(p), g.acc2(p), g.acc2(p))
			}
		}
		for s := 0; s < lines; s++ {
			g.line(b, s, lines)
		}
		if g.T == 1 {
			for p := 0; p < g.P; p++ {
				VPADDD(g.acc2(p), g.acc(p, 0), g.acc(p, 0))
			}
		}
		g.blockEnd(b, data, lines*128)
	}
	g.prefetch(unitBytes[g.kind] - 64)
	if g.kind == q41 {
		g.prefetch(unitBytes[g.kind] - 128)
	}
}

func (g *tileAVX512) line(b, s, lines int) {
	off := (b*lines + s) * 64
	g.prefetch(off)
	for p := 0; p < g.P; p++ {
		if g.kind == q8 {
			VMOVDQU64(g.wmem(p, off), g.low(p))
			continue
		}
		VMOVDQU64(g.wmem(p, off), g.high(p))
		VPANDD(g.high(p), z[maskAVX512], g.low(p))
		VPSRLW(Imm(4), g.high(p), g.high(p))
		VPANDD(g.high(p), z[maskAVX512], g.high(p))
	}
	if g.kind == q8 {
		g.dot(b*8+s, g.low, s%2 == 1)
		return
	}
	g.dot(b*8+s, g.low, false)
	g.dot(b*8+s+4, g.high, true)
}

// dot adds weights times dword d of the activations.
func (g *tileAVX512) dot(d int, w func(p int) reg.VecPhysical, second bool) {
	for t := 0; t < g.T; t++ {
		a := g.broadcast(t)
		VPBROADCASTD(Mem{Base: rA, Disp: (d*g.T + t) * 4}, a)
		for p := 0; p < g.P; p++ {
			acc := g.acc(p, t)
			if g.T == 1 && second {
				acc = g.acc2(p)
			}
			VPDPBUSD(a, w(p), acc)
		}
	}
}

// blockEnd: c = fma(float(sum) * wscale, ascale, c), and for Q41 c = fma(wmin, ascale * sum of a, c).
func (g *tileAVX512) blockEnd(b, data, scales int) {
	for p := 0; p < g.P; p++ {
		VCVTPH2PS(g.wmem(p, scales+b*32), g.low(p))
		if g.kind == q41 {
			VCVTPH2PS(g.wmem(p, scales+64+b*32), g.high(p))
		}
	}
	for t := 0; t < g.T; t++ {
		scale, sum := z[28], z[29]
		VBROADCASTSS(Mem{Base: rA, Disp: data + (b*g.T+t)*4}, scale)
		if g.kind == q41 {
			VBROADCASTSS(Mem{Base: rA, Disp: data + 8*g.T + (b*g.T+t)*4}, sum)
		}
		for p := 0; p < g.P; p++ {
			a := g.acc(p, t)
			VCVTDQ2PS(a, a)
			VMULPS(g.low(p), a, a)
			VFMADD213PS(g.cmem(p, t), scale, a)
			if g.kind == q41 {
				VFMADD231PS(sum, g.high(p), a)
			}
			VMOVUPS(a, g.cmem(p, t))
		}
	}
}
