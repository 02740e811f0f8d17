package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fold256 reduces the 16 lanes lo, hi into lane 0 of lo, halves onto each other.
func fold256(lo, hi, t int, op func(a, b, d Op)) {
	op(y[hi], y[lo], y[lo])
	VEXTRACTF128(Imm(1), y[lo], x[t])
	op(x[t], x[lo], x[lo])
	VPSHUFD(Imm(0x4e), x[lo], x[t])
	op(x[t], x[lo], x[lo])
	VPSHUFD(Imm(0xb1), x[lo], x[t])
	op(x[t], x[lo], x[lo])
}

func vmax(a, b, d Op)  { VMAXPS(a, b, d) }
func vadd(a, b, d Op)  { VADDPS(a, b, d) }
func vaddi(a, b, d Op) { VPADDD(a, b, d) }

// exp256 is e^x in place; n, p are scratch.
func exp256(v, n, p int) {
	VMAXPS(splatF("explo", -86.5), y[v], y[v])
	VMINPS(splatF("exphi", 88), y[v], y[v])
	VMULPS(splatF("log2e", 1.44269504), y[v], y[n])
	VROUNDPS(Imm(0), y[n], y[n])
	VFMADD231PS(splatF("ln2a", -0.693359375), y[n], y[v])
	VFMADD231PS(splatF("ln2b", 2.12194440e-4), y[n], y[v])
	VMOVUPS(splatF("e5", 1.0/120), y[p])
	for _, c := range expTaylor {
		VFMADD213PS(splatF(c.name, c.v), y[v], y[p])
	}
	VCVTPS2DQ(y[n], y[n])
	VPSLLD(Imm(23), y[n], y[n])
	VPADDD(y[n], y[p], y[v])
}

// quantAVX2: one row to int8 per 32 columns: data, scales[2], corrections[2] per unit.
func quantAVX2(kind string) {
	dst, ds, xr, n := reg.RDI, reg.R8, reg.RSI, reg.RCX
	text("Quant"+kind, "rounds a row to int8 per 32 columns, one record per unit.",
		"func(dst *byte, dstride int, x *float32, nunit int)", "dst", dst, "dstride", ds, "x", xr, "nunit", n)
	data := recAVX2[kind] - 16
	VMOVUPS(splat("absmask", 0x7fffffff), y[15])
	Label("unit")
	for b := 0; b < 2; b++ {
		for i := 0; i < 4; i++ {
			VMOVUPS(Mem{Base: xr, Disp: b*128 + i*32}, y[i])
			VANDPS(y[15], y[i], y[4+i])
		}
		VMAXPS(y[4], y[5], y[4])
		VMAXPS(y[6], y[7], y[6])
		fold256(4, 6, 5, vmax)
		VMULSS(splatF("r127", 1.0/127), x[4], x[9])
		VMOVSS(x[9], Mem{Base: dst, Disp: data + b*4})
		VXORPS(x[10], x[10], x[10])
		VCMPSS(Imm(14), splatF("tiny", quantTiny), x[4], x[11]) // greater than
		VMOVSS(splatF("f127", 127), x[12])
		VDIVSS(x[4], x[12], x[12])
		VANDPS(x[11], x[12], x[12])
		VBROADCASTSS(x[12], y[12])
		for i := 0; i < 4; i++ {
			VMULPS(y[12], y[i], y[i])
			VCVTPS2DQ(y[i], y[i])
		}
		if kind != q40 {
			VPADDD(y[0], y[1], y[4])
			VPADDD(y[2], y[3], y[5])
			fold256(4, 5, 6, vaddi)
			if kind == q8 { // -128 * sum
				VPSLLD(Imm(7), x[4], x[4])
				VPSUBD(x[4], x[10], x[4])
			} else { // scale * sum
				VCVTDQ2PS(x[4], x[4])
				VMULSS(x[9], x[4], x[4])
			}
			VMOVD(x[4], Mem{Base: dst, Disp: data + 8 + b*4})
		}
		VPACKSSDW(y[1], y[0], y[0])
		VPACKSSDW(y[3], y[2], y[2])
		if kind == q8 {
			for i := 0; i < 2; i++ { // int16 pairs of columns (0,2), (1,3)
				VPERMQ(Imm(0xd8), y[2*i], y[2*i])
				VPSHUFLW(Imm(0xd8), y[2*i], y[2*i])
				VPSHUFHW(Imm(0xd8), y[2*i], y[2*i])
				VMOVDQU(y[2*i], Mem{Base: dst, Disp: b*64 + i*32})
			}
			continue
		}
		VPACKSSWB(y[2], y[0], y[0])
		if kind == q40 { // -8 * the sums of the even and of the odd byte pairs
			VMOVDQU(splat("eights", 0x08080808), y[5])
			VPMADDUBSW(y[0], y[5], y[4])
			VEXTRACTI128(Imm(1), y[4], x[5])
			VPADDW(x[5], x[4], x[4])
			VPSHUFD(Imm(0x4e), x[4], x[5])
			VPADDW(x[5], x[4], x[4])
			VPSHUFD(Imm(0xb1), x[4], x[5])
			VPADDW(x[5], x[4], x[4])
			VPSUBW(x[4], x[10], x[4])
			VMOVD(x[4], Mem{Base: dst, Disp: data + 8 + b*4})
		}
		VMOVDQU(table("unpackd", 0, 4, 1, 5, 2, 6, 3, 7), y[5])
		VPERMD(y[0], y[5], y[0])
		VMOVDQU(y[0], Mem{Base: dst, Disp: b * 32})
	}
	ADDQ(ds, dst)
	ADDQ(I32(256), xr)
	DECQ(n)
	JNZ(LabelRef("unit"))
	ret()
}

func opsAVX2() {
	dst, xr, n := reg.RDI, reg.RSI, reg.RCX

	text("Rope", "rotates element i with element half+i; half is a multiple of 8.",
		"func(v, cos, sin *float32, half int)", "v", xr, "cos", reg.RBX, "sin", reg.RDX, "half", n)
	LEAQ(Mem{Base: xr, Index: n, Scale: 4}, dst)
	Label("l")
	VMOVUPS(Mem{Base: xr}, y[0])
	VMOVUPS(Mem{Base: dst}, y[1])
	VMOVUPS(Mem{Base: reg.RBX}, y[2])
	VMOVUPS(Mem{Base: reg.RDX}, y[3])
	VMULPS(y[1], y[3], y[4])
	VFMSUB231PS(y[0], y[2], y[4])
	VMULPS(y[0], y[3], y[5])
	VFMADD231PS(y[1], y[2], y[5])
	VMOVUPS(y[4], Mem{Base: xr})
	VMOVUPS(y[5], Mem{Base: dst})
	next(32, xr, dst, reg.RBX, reg.RDX)
	SUBQ(Imm(8), n)
	JG(LabelRef("l"))
	ret()

	text("RopePairs", "rotates element 2i with element 2i+1; half is a multiple of 8.",
		"func(v, cos, sin *float32, half int)", "v", xr, "cos", reg.RBX, "sin", reg.RDX, "half", n)
	VMOVDQU(table("twice4", 0, 0, 1, 1, 2, 2, 3, 3), y[5])
	Label("l")
	VMOVUPS(Mem{Base: xr}, y[0])
	VMOVUPS(Mem{Base: reg.RBX}, x[2])
	VMOVUPS(Mem{Base: reg.RDX}, x[3])
	VPERMPS(y[2], y[5], y[2])
	VPERMPS(y[3], y[5], y[3])
	VPERMILPS(Imm(0xb1), y[0], y[1]) // neighbours change places
	VMULPS(y[1], y[3], y[1])
	VFMADDSUB231PS(y[0], y[2], y[1]) // even lanes subtract, odd lanes add
	VMOVUPS(y[1], Mem{Base: xr})
	next(32, xr)
	next(16, reg.RBX, reg.RDX)
	SUBQ(Imm(4), n)
	JG(LabelRef("l"))
	ret()

	text("SumSquares", "is the sum of squares of n floats, n a multiple of 16, in 16 lanes.",
		"func(x *float32, n int) float32", "x", xr, "n", n)
	VXORPS(x[0], x[0], x[0])
	VXORPS(x[1], x[1], x[1])
	Label("l")
	for i := 0; i < 2; i++ {
		VMOVUPS(Mem{Base: xr, Disp: 32 * i}, y[2+i])
		VFMADD231PS(y[2+i], y[2+i], y[i])
	}
	next(64, xr)
	SUBQ(Imm(16), n)
	JG(LabelRef("l"))
	fold256(0, 1, 2, vadd)
	VZEROUPPER()
	Store(x[0], ReturnIndex(0))
	RET()

	text("ScaleMul", "sets dst = x * s * w over n floats, n a multiple of 16.",
		"func(dst, x, w *float32, n int, s float32)", "dst", dst, "x", xr, "w", reg.R8, "n", n)
	VBROADCASTSS(NewParamAddr("s", 32), y[0])
	Label("l")
	for i := 0; i < 2; i++ {
		VMULPS(Mem{Base: xr, Disp: 32 * i}, y[0], y[1+i])
		VMULPS(Mem{Base: reg.R8, Disp: 32 * i}, y[1+i], y[1+i])
		VMOVUPS(y[1+i], Mem{Base: dst, Disp: 32 * i})
	}
	next(64, xr, dst, reg.R8)
	SUBQ(Imm(16), n)
	JG(LabelRef("l"))
	ret()

	text("SiluMul", "sets dst = gate / (1 + e^-gate) * up for rows of 16; rows of dst are dstride bytes apart.",
		"func(dst *float32, dstride int, gate, up *float32, rows int)", "dst", dst, "dstride", reg.R9, "gate", xr, "up", reg.R8, "rows", n)
	Label("l")
	for h := 0; h < 2; h++ {
		VMOVUPS(Mem{Base: xr, Disp: 32 * h}, y[0])
		VXORPS(y[1], y[1], y[1])
		VSUBPS(y[0], y[1], y[1])
		exp256(1, 2, 3)
		VADDPS(splatF("one", 1), y[1], y[1])
		VDIVPS(y[1], y[0], y[0])
		VMULPS(Mem{Base: reg.R8, Disp: 32 * h}, y[0], y[0])
		VMOVUPS(y[0], Mem{Base: dst, Disp: 32 * h})
	}
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
	VMOVUPS(Mem{Base: reg.RDX}, y[0])
	VMOVUPS(Mem{Base: reg.RDX, Disp: 32}, y[1])
	TESTQ(reg.RAX, reg.RAX)
	JZ(LabelRef("store"))
	VADDPS(Mem{Base: reg.RBX}, y[0], y[0])
	VADDPS(Mem{Base: reg.RBX, Disp: 32}, y[1], y[1])
	Label("store")
	VMOVUPS(y[0], Mem{Base: reg.RBX})
	VMOVUPS(y[1], Mem{Base: reg.RBX, Disp: 32})
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
	MOVQ(xr, dst)
	MOVQ(n, reg.R8)
	VMOVUPS(Mem{Base: xr}, y[0])
	VMOVUPS(Mem{Base: xr, Disp: 32}, y[1])
	Label("max")
	VMAXPS(Mem{Base: xr}, y[0], y[0])
	VMAXPS(Mem{Base: xr, Disp: 32}, y[1], y[1])
	next(64, xr)
	SUBQ(Imm(16), n)
	JG(LabelRef("max"))
	fold256(0, 1, 2, vmax)
	VBROADCASTSS(x[0], y[8])
	MOVQ(dst, xr)
	MOVQ(reg.R8, n)
	VXORPS(y[6], y[6], y[6])
	VXORPS(y[7], y[7], y[7])
	Label("exp")
	for h := 0; h < 2; h++ {
		VMOVUPS(Mem{Base: xr, Disp: 32 * h}, y[3*h])
		VSUBPS(y[8], y[3*h], y[3*h])
		exp256(3*h, 3*h+1, 3*h+2)
		VMOVUPS(y[3*h], Mem{Base: xr, Disp: 32 * h})
		VADDPS(y[3*h], y[6+h], y[6+h])
	}
	next(64, xr)
	SUBQ(Imm(16), n)
	JG(LabelRef("exp"))
	fold256(6, 7, 2, vadd)
	VBROADCASTSS(x[6], y[6])
	VMOVUPS(splatF("one", 1), y[0])
	VDIVPS(y[6], y[0], y[6])
	MOVQ(dst, xr)
	MOVQ(reg.R8, n)
	Label("scale")
	VMULPS(Mem{Base: xr}, y[6], y[1])
	VMOVUPS(y[1], Mem{Base: xr})
	next(32, xr)
	SUBQ(Imm(8), n)
	JG(LabelRef("scale"))
	ret()

	TEXT("Pause", NOSPLIT, "func(n int)")
	Doc("Pause executes n PAUSE instructions.")
	Load(Param("n"), reg.RAX)
	Label("l")
	PAUSE()
	DECQ(reg.RAX)
	JNZ(LabelRef("l"))
	RET()
}
