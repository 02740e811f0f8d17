package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var x = []reg.VecPhysical{reg.X0, reg.X1, reg.X2, reg.X3, reg.X4, reg.X5, reg.X6, reg.X7, reg.X8, reg.X9, reg.X10, reg.X11, reg.X12, reg.X13, reg.X14, reg.X15}

var y = []reg.VecPhysical{reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15}

var z = []reg.VecPhysical{
	reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
	reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
}

// The packed kinds, and their bytes per panel and unit.
const (
	f32  = "F32"
	f16  = "F16"
	bf16 = "BF16"
	q8   = "Q8"
	q41  = "Q41"
	q40  = "Q40"
)

var unitBytes = map[string]int{f32: 1024, f16: 512, bf16: 512, q8: 1088, q41: 640, q40: 576}

func isFloat(kind string) bool { return kind == f32 || kind == f16 || kind == bf16 }

// General registers of a gemm kernel.
var (
	rW   = reg.RSI // weights of the unit, panel 0
	rWP  = reg.R8  // weights of the panel group at work
	rPS  = reg.R9  // bytes from panel to panel
	rPS3 = reg.R10
	rA   = reg.RDI // activations of the tile at work
	rA0  = reg.R11 // activations of the unit
	rC   = reg.RDX // sums [panel][row][16]
	rCP  = reg.R12
	rCS  = reg.R13 // bytes of sums per panel
	rCS3 = reg.R15
	rNU  = reg.RCX
	rNT  = reg.RBX
	rTI  = reg.RAX
	rPI  = reg.R14
)

// strided is element p of a row of things s bytes apart; s3 holds 3*s.
func strided(base, s, s3 reg.GPPhysical, p, off int) Mem {
	m := Mem{Base: base, Disp: off}
	switch p {
	case 1:
		m.Index, m.Scale = s, 1
	case 2:
		m.Index, m.Scale = s, 2
	case 3:
		m.Index, m.Scale = s3, 1
	}
	return m
}

// gemmLoops emits the frame of a gemm: for each unit, for each group of P panels, for each tile of T rows: tile().
func gemmLoops(name, kind string, P, T, recBytes int, setup, tile func()) {
	TEXT(name, NOSPLIT, "func(w *byte, pstride, nunit int, a *byte, astride, ntile int, c *float32, np int)")
	Pragma("noescape")
	Doc(name + " adds np panels of packed weights (np a multiple of the P in its name) times ntile tiles of T rows to c.")
	Load(Param("w"), rW)
	Load(Param("pstride"), rPS)
	Load(Param("nunit"), rNU)
	Load(Param("a"), rA0)
	Load(Param("ntile"), rNT)
	Load(Param("c"), rC)
	if P > 2 {
		LEAQ(Mem{Base: rPS, Index: rPS, Scale: 2}, rPS3)
	}
	IMUL3Q(I32(int32(T*64)), rNT, rCS)
	LEAQ(Mem{Base: rCS, Index: rCS, Scale: 2}, rCS3)
	setup()
	Label("unit")
	MOVQ(rW, rWP)
	MOVQ(rC, rCP)
	MOVQ(NewParamAddr("np", 56), rPI)
	Label("group")
	MOVQ(rA0, rA)
	MOVQ(rNT, rTI)
	Label("tile")
	tile()
	ADDQ(I32(int32(recBytes*T)), rA)
	ADDQ(I32(int32(64*T)), rCP)
	DECQ(rTI)
	JNZ(LabelRef("tile"))
	switch P {
	case 1:
		ADDQ(rPS, rWP)
	case 2:
		LEAQ(Mem{Base: rWP, Index: rPS, Scale: 2}, rWP)
		ADDQ(rCS, rCP)
	case 4:
		LEAQ(Mem{Base: rWP, Index: rPS, Scale: 4}, rWP)
		ADDQ(rCS3, rCP)
	}
	SUBQ(I32(int32(P)), rPI)
	JG(LabelRef("group"))
	ADDQ(NewParamAddr("astride", 32), rA0)
	ADDQ(I32(int32(unitBytes[kind])), rW)
	DECQ(rNU)
	JNZ(LabelRef("unit"))
	ret()
}

func text(name, doc, sig string, params ...any) {
	TEXT(name, NOSPLIT, sig)
	Pragma("noescape")
	Doc(name + " " + doc)
	for i := 0; i < len(params); i += 2 {
		Load(Param(params[i].(string)), params[i+1].(reg.Register))
	}
}

func ret() { VZEROUPPER(); RET() }

// next advances pointers.
func next(step int, rs ...reg.GPPhysical) {
	for _, r := range rs {
		ADDQ(Imm(uint64(step)), r)
	}
}

var constants = map[string]Mem{}

// splat is a constant of eight equal dwords.
func splat(name string, v uint32) Mem {
	return table(name, v, v, v, v, v, v, v, v)
}

func splatF(name string, v float32) Mem { return splat(name, math.Float32bits(v)) }

func table(name string, vs ...uint32) Mem {
	if m, ok := constants[name]; ok {
		return m
	}
	m := GLOBL(name, RODATA|NOPTR)
	for i, v := range vs {
		DATA(i*4, U32(v))
	}
	constants[name] = m
	return m
}

// Steps of e^x, the same for both sets (see expGo in package kernel).
var expTaylor = []struct {
	name string
	v    float32
}{{"e4", 1.0 / 24}, {"e3", 1.0 / 6}, {"half", 0.5}, {"one", 1}, {"one", 1}}

// quantTiny: blocks of smaller magnitude quantise to zero, as 127/magnitude would overflow (see quantGo).
const quantTiny = 1e-36

// interleave turns the records of T rows (rstride bytes apart) of 4*quads dwords into [dword][T], unit by unit.
func interleave(T int) {
	dst, ds, src, rs, us, n, nq := reg.RDI, reg.R8, reg.RSI, reg.R9, reg.R10, reg.RCX, reg.R11
	name := map[int]string{2: "Interleave2", 3: "Interleave3", 4: "Interleave4"}[T]
	text(name, "orders the records of rows as tiles: [row][dword] to [dword][row].",
		"func(dst *byte, dstride int, src *byte, rstride, ustride, nunit, quads int)",
		"dst", dst, "dstride", ds, "src", src, "rstride", rs, "ustride", us, "nunit", n, "quads", nq)
	d, s, q, rs3 := reg.RAX, reg.RBX, reg.RDX, reg.R12
	LEAQ(Mem{Base: rs, Index: rs, Scale: 2}, rs3)
	Label("unit")
	MOVQ(dst, d)
	MOVQ(src, s)
	MOVQ(nq, q)
	Label("quad")
	for t := 0; t < T; t++ {
		VMOVDQU(strided(s, rs, rs3, t, 0), x[t])
	}
	VPUNPCKLDQ(x[1], x[0], x[4])
	VPUNPCKHDQ(x[1], x[0], x[5])
	if T >= 3 {
		VPUNPCKLDQ(x[T-1], x[2], x[6])
		VPUNPCKHDQ(x[T-1], x[2], x[7])
		VPUNPCKLQDQ(x[6], x[4], x[0])
		VPUNPCKHQDQ(x[6], x[4], x[1])
		VPUNPCKLQDQ(x[7], x[5], x[2])
		VPUNPCKHQDQ(x[7], x[5], x[3])
		for i := 0; i < 4; i++ {
			if T == 3 && i == 3 { // the last store must not write beyond the tile: another thread may own what follows
				VMOVQ(x[3], Mem{Base: d, Disp: 36})
				VPEXTRD(Imm(2), x[3], Mem{Base: d, Disp: 44})
				break
			}
			VMOVDQU(x[i], Mem{Base: d, Disp: i * T * 4})
		}
	} else {
		VMOVDQU(x[4], Mem{Base: d})
		VMOVDQU(x[5], Mem{Base: d, Disp: 16})
	}
	next(16, s)
	next(16*T, d)
	DECQ(q)
	JNZ(LabelRef("quad"))
	ADDQ(ds, dst)
	ADDQ(us, src)
	DECQ(n)
	JNZ(LabelRef("unit"))
	ret()
}
