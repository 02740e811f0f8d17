package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fold512 reduces the 16 lanes of register v into its lane 0, halves onto each other.
func fold512(v, t int, op func(a, b, d Op)) {
	VEXTRACTF64X4(Imm(1), z[v], y[t])
	op(y[t], y[v], y[v])
	VEXTRACTF128(Imm(1), y[v], x[t])
	op(x[t], x[v], x[v])
	VPSHUFD(Imm(0x4e), x[v], x[t])
	op(x[t], x[v], x[v])
	VPSHUFD(Imm(0xb1), x[v], x[t])
	op(x[t], x[v], x[v])
}

// exp512Constants loads z20 to z31.
func exp512Constants() {
	load := func(name string, v float32, r int) { VBROADCASTSS(splatF(name, v), z[r]) }
	load("explo", -86.5, 31)
	load("exphi", 88, 30)
	load("log2e", 1.44269504, 29)
	load("ln2a", -0.693359375, 28)
	load("ln2b", 2.12194440e-4, 27)
	load("e5", 1.0/120, 26)
	for i, c := range expTaylor[:4] {
		load(c.name, c.v, 25-i)
	}
}

const oneAVX512 = 22 // register of the constant 1

// exp512 is e^x in place; n, p are scratch.
func exp512(v, n, p int) {
	VMAXPS(z[31], z[v], z[v])
	VMINPS(z[30], z[v], z[v])
	VMULPS(z[29], z[v], z[n])
	VRNDSCALEPS(Imm(0), z[n], z[n])
	VFMADD231PS(z[28], z[n], z[v])
	VFMADD231PS(z[27], z[n], z[v])
	VMOVAPS(z[26], z[p])
	for _, c := range []int{25, 24, 23, oneAVX512, oneAVX512} {
		VFMADD213PS(z[c], z[v], z[p])
	}
	VCVTPS2DQ(z[n], z[n])
	VPSLLD(Imm(23), z[n], z[n])
	VPADDD(z[n], z[p], z[v])
}

// quantAVX512: one row to int8 per 32 columns: 64 int8, scales[2], corrections[2] per unit.
func quantAVX512() {
	for _, kind := range []string{q8, q41, q40} {
		dst, ds, xr, n := reg.RDI, reg.R8, reg.RSI, reg.RCX
		text("Quant"+kind, "rounds a row to int8 per 32 columns, one record per unit.",
			"func(dst *byte, dstride int, x *float32, nunit int)", "dst", dst, "dstride", ds, "x", xr, "nunit", n)
		VBROADCASTSS(splat("absmask", 0x7fffffff), z[16])
		Label("unit")
		for i := 0; i < 4; i++ {
			VMOVUPS(Mem{Base: xr, Disp: i * 64}, z[i])
		}
		for b := 0; b < 2; b++ {
			VPANDD(z[16], z[2*b], z[4])
			VPANDD(z[16], z[2*b+1], z[5])
			VMAXPS(z[4], z[5], z[4])
			fold512(4, 6, vmax)
			VMULSS(splatF("r127", 1.0/127), x[4], x[9])
			VMOVSS(x[9], Mem{Base: dst, Disp: 64 + b*4})
			VXORPS(x[10], x[10], x[10])
			VCMPSS(Imm(14), splatF("tiny", quantTiny), x[4], x[11]) // greater than
			VMOVSS(splatF("f127", 127), x[12])
			VDIVSS(x[4], x[12], x[12])
			VANDPS(x[11], x[12], x[12])
			VBROADCASTSS(x[12], z[12])
			for i := 2 * b; i < 2*b+2; i++ {
				VMULPS(z[12], z[i], z[i])
				VCVTPS2DQ(z[i], z[i])
				VPMOVSDB(z[i], x[13])
				VMOVDQU(x[13], Mem{Base: dst, Disp: i * 16})
			}
			VPADDD(z[2*b], z[2*b+1], z[4])
			fold512(4, 6, vaddi)
			if shift := map[string]uint64{q8: 7, q40: 3}[kind]; shift > 0 { // -128 * sum, -8 * sum
				VPSLLD(Imm(shift), x[4], x[4])
				VPSUBD(x[4], x[10], x[4])
			} else { // scale * sum
				VCVTDQ2PS(x[4], x[4])
				VMULSS(x[9], x[4], x[4])
			}
			VMOVD(x[4], Mem{Base: dst, Disp: 72 + b*4})
		}
		ADDQ(ds, dst)
		ADDQ(I32(256), xr)
		DECQ(n)
		JNZ(LabelRef("unit"))
		ret()
	}
}

func opsAVX512() {
	dst, xr, n := reg.RDI, reg.RSI, reg.RCX

	text("Rope", "rotates element i with element half+i; half is a multiple of 16.",
		"func(v, cos, sin *float32, half int)", "v", xr, "cos", reg.RBX, "sin", reg.RDX, "half", n)
	LEAQ(Mem{Base: xr, Index: n, Scale: 4}, dst)
	Label("l")
	VMOVUPS(Mem{Base: xr}, z[0])
	VMOVUPS(Mem{Base: dst}, z[1])
	VMOVUPS(Mem{Base: reg.RBX}, z[2])
	VMOVUPS(Mem{Base: reg.RDX}, z[3])
	VMULPS(z[1], z[3], z[4])
	VFMSUB231PS(z[0], z[2], z[4])
	VMULPS(z[0], z[3], z[5])
	VFMADD231PS(z[1], z[2], z[5])
	VMOVUPS(z[4], Mem{Base: xr})
	VMOVUPS(z[5], Mem{Base: dst})
	next(64, xr, dst, reg.RBX, reg.RDX)
	SUBQ(Imm(16), n)
	JG(LabelRef("l"))
	ret()

	text("RopePairs", "rotates element 2i with element 2i+1; half is a multiple of 8.",
		"func(v, cos, sin *float32, half int)", "v", xr, "cos", reg.RBX, "sin", reg.RDX, "half", n)
	VMOVDQU64(table("twice8", 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7), z[5])
	Label("l")
	VMOVUPS(Mem{Base: xr}, z[0])
	VMOVUPS(Mem{Base: reg.RBX}, y[2])
	VMOVUPS(Mem{Base: reg.RDX}, y[3])
	VPERMPS(z[2], z[5], z[2])
	VPERMPS(z[3], z[5], z[3])
	VPERMILPS(Imm(0xb1), z[0], z[1]) // neighbours change places
	VMULPS(z[1], z[3], z[1])
	VFMADDSUB231PS(z[0], z[2], z[1]) // even lanes subtract, odd lanes add
	VMOVUPS(z[1], Mem{Base: xr})
	next(64, xr)
	next(32, reg.RBX, reg.RDX)
	SUBQ(Imm(8), n)
	JG(LabelRef("l"))
	ret()

	text("SumSquares", "is the sum of squares of n floats, n a multiple of 16, in 16 lanes.",
		"func(x *float32, n int) float32", "x", xr, "n", n)
	VPXORD(z[0], z[0], z[0])
	Label("l")
	VMOVUPS(Mem{Base: xr}, z[2])
	VFMADD231PS(z[2], z[2], z[0])
	next(64, xr)
	SUBQ(Imm(16), n)
	JG(LabelRef("l"))
	fold512(0, 2, vadd)
	VZEROUPPER()
	Store(x[0], ReturnIndex(0))
	RET()

	text("ScaleMul", "sets dst = x * s * w over n floats, n a multiple of 16.",
		"func(dst, x, w *float32, n int, s float32)", "dst", dst, "x", xr, "w", reg.R8, "n", n)
	VBROADCASTSS(NewParamAddr("s", 32), z[0])
	Label("l")
	VMULPS(Mem{Base: xr}, z[0], z[1])
	VMULPS(Mem{Base: reg.R8}, z[1], z[1])
	VMOVUPS(z[1], Mem{Base: dst})
	next(64, xr, dst, reg.R8)
	SUBQ(Imm(16), n)
	JG(LabelRef("l"))
	ret()

	text("SiluMul", "sets dst = gate / (1 + e^-gate) * up for rows of 16; rows of dst are dstride bytes apart.",
		"func(dst *float32, dstride int, gate, up *float32, rows int)", "dst", dst, "dstride", reg.R9, "gate", xr, "up", reg.R8, "rows", n)
	exp512Constants()
	VPXORD(z[19], z[19], z[19])
	Label("l")
	VMOVUPS(Mem{Base: xr}, z[0])
	VSUBPS(z[0], z[19], z[1])
	exp512(1, 2, 3)
	VADDPS(z[oneAVX512], z[1], z[1])
	VDIVPS(z[1], z[0], z[0])
	VMULPS(Mem{Base: reg.R8}, z[0], z[0])
	VMOVUPS(z[0], Mem{Base: dst})
	ADDQ(reg.R9, dst)
	next(64, xr, reg.R8)
	DECQ(n)
	JNZ(LabelRef("l"))
	ret()

	os, ps, cs := reg.R8, reg.R9, reg.R10
	text("StorePanels", "writes sums [panel][row][16] to out + row*ostride + panel*pstride (bytes), or adds them.",
		"func(out *float32, ostride, pstride int, c *float32, cstride, rows, np, add int)",
		"out", dst, "ostride", os, "pstride", ps, "c", xr, "cstride", cs, "np", reg.R11, "add", reg.RAX)
	Label("panel")
	MOVQ(dst, reg.RBX)
	MOVQ(xr, reg.RDX)
	MOVQ(NewParamAddr("rows", 40), n)
	Label("row")
	VMOVUPS(Mem{Base: reg.RDX}, z[0])
	TESTQ(reg.RAX, reg.RAX)
	JZ(LabelRef("store"))
	VADDPS(Mem{Base: reg.RBX}, z[0], z[0])
	Label("store")
	VMOVUPS(z[0], Mem{Base: reg.RBX})
	ADDQ(os, reg.RBX)
	next(64, reg.RDX)
	DECQ(n)
	JNZ(LabelRef("row"))
	ADDQ(ps, dst)
	ADDQ(cs, xr)
	DECQ(reg.R11)
	JNZ(LabelRef("panel"))
	ret()

	text("Softmax", "normalises n floats in place, n a multiple of 16.", "func(x *float32, n int)", "x", xr, "n", n)
	exp512Constants()
	MOVQ(xr, dst)
	MOVQ(n, reg.R8)
	VMOVUPS(Mem{Base: xr}, z[0])
	Label("max")
	VMAXPS(Mem{Base: xr}, z[0], z[0])
	next(64, xr)
	SUBQ(Imm(16), n)
	JG(LabelRef("max"))
	fold512(0, 2, vmax)
	VBROADCASTSS(x[0], z[8])
	MOVQ(dst, xr)
	MOVQ(reg.R8, n)
	VPXORD(z[6], z[6], z[6])
	Label("exp")
	VMOVUPS(Mem{Base: xr}, z[0])
	VSUBPS(z[8], z[0], z[0])
	exp512(0, 1, 2)
	VMOVUPS(z[0], Mem{Base: xr})
	VADDPS(z[0], z[6], z[6])
	next(64, xr)
	SUBQ(Imm(16), n)
	JG(LabelRef("exp"))
	fold512(6, 2, vadd)
	VBROADCASTSS(x[6], z[6])
	VDIVPS(z[6], z[oneAVX512], z[6])
	MOVQ(dst, xr)
	MOVQ(reg.R8, n)
	Label("scale")
	VMULPS(Mem{Base: xr}, z[6], z[1])
	VMOVUPS(z[1], Mem{Base: xr})
	next(64, xr)
	SUBQ(Imm(16), n)
	JG(LabelRef("scale"))
	ret()
}
