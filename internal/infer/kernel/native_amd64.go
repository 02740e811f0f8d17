//go:build amd64 && !purego

package kernel

import (
	"golang.org/x/sys/cpu"

	"treeline/internal/infer/kernel/amd64/avx2"
	"treeline/internal/infer/kernel/amd64/avx512"
)

// native lists the assembly sets that this CPU and operating system support (x/sys/cpu reads CPUID and XGETBV).
func native() []*Set {
	var sets []*Set
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasF16C {
		sets = append(sets, setAVX2())
		if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VNNI {
			sets = append(sets, setAVX512())
		}
	}
	return sets
}

func setAVX2() *Set {
	s := &Set{
		Name: "avx2", maxTile: 4, ropeStep: 8,
		record: func(k Kind) int {
			switch k {
			case Q8_0:
				return 144
			case Q4_1, Q4_0:
				return 80
			}
			return 64
		},
		interleave2: avx2.Interleave2, interleave3: avx2.Interleave3, interleave4: avx2.Interleave4,
		sumSquares: avx2.SumSquares, scaleMul: avx2.ScaleMul, rope: avx2.Rope, ropePairs: avx2.RopePairs, siluMul: avx2.SiluMul,
		softmax: avx2.Softmax, store: avx2.StorePanels,
	}
	s.quant[Q8_0], s.quant[Q4_1], s.quant[Q4_0] = avx2.QuantQ8, avx2.QuantQ41, avx2.QuantQ40
	// Eight ymm sums: four panels for one row, two for two, one for three and four.
	s.gemm[F32] = [5]gemms{
		1: {avx2.GemmF32P4T1, avx2.GemmF32P2T1, avx2.GemmF32P1T1},
		2: {avx2.GemmF32P2T2, avx2.GemmF32P2T2, avx2.GemmF32P1T2}, 3: one(avx2.GemmF32P1T3), 4: one(avx2.GemmF32P1T4),
	}
	s.gemm[F16] = [5]gemms{
		1: {avx2.GemmF16P4T1, avx2.GemmF16P2T1, avx2.GemmF16P1T1},
		2: {avx2.GemmF16P2T2, avx2.GemmF16P2T2, avx2.GemmF16P1T2}, 3: one(avx2.GemmF16P1T3), 4: one(avx2.GemmF16P1T4),
	}
	s.gemm[BF16] = [5]gemms{
		1: {avx2.GemmBF16P4T1, avx2.GemmBF16P2T1, avx2.GemmBF16P1T1},
		2: {avx2.GemmBF16P2T2, avx2.GemmBF16P2T2, avx2.GemmBF16P1T2}, 3: one(avx2.GemmBF16P1T3), 4: one(avx2.GemmBF16P1T4),
	}
	s.gemm[Q8_0] = [5]gemms{
		1: {avx2.GemmQ8P4T1, avx2.GemmQ8P2T1, avx2.GemmQ8P1T1},
		2: {avx2.GemmQ8P2T2, avx2.GemmQ8P2T2, avx2.GemmQ8P1T2}, 3: one(avx2.GemmQ8P1T3), 4: one(avx2.GemmQ8P1T4),
	}
	s.gemm[Q4_1] = [5]gemms{
		1: {avx2.GemmQ41P4T1, avx2.GemmQ41P2T1, avx2.GemmQ41P1T1},
		2: {avx2.GemmQ41P2T2, avx2.GemmQ41P2T2, avx2.GemmQ41P1T2}, 3: one(avx2.GemmQ41P1T3), 4: one(avx2.GemmQ41P1T4),
	}
	s.gemm[Q4_0] = [5]gemms{
		1: {avx2.GemmQ40P4T1, avx2.GemmQ40P2T1, avx2.GemmQ40P1T1},
		2: {avx2.GemmQ40P2T2, avx2.GemmQ40P2T2, avx2.GemmQ40P1T2}, 3: one(avx2.GemmQ40P1T3), 4: one(avx2.GemmQ40P1T4),
	}
	return s
}

func one(f gemm) gemms { return gemms{f, f, f} }

func setAVX512() *Set {
	s := &Set{
		Name: "avx512", maxTile: 4, ropeStep: 16,
		record: func(k Kind) int {
			if k.Integer() {
				return 80
			}
			return 64
		},
		interleave2: avx512.Interleave2, interleave3: avx512.Interleave3, interleave4: avx512.Interleave4,
		sumSquares: avx512.SumSquares, scaleMul: avx512.ScaleMul, rope: avx512.Rope, ropePairs: avx512.RopePairs, siluMul: avx512.SiluMul,
		softmax: avx512.Softmax, store: avx512.StorePanels,
	}
	s.quant[Q8_0], s.quant[Q4_1], s.quant[Q4_0] = avx512.QuantQ8, avx512.QuantQ41, avx512.QuantQ40
	s.gemm[F32] = [5]gemms{
		1: {avx512.GemmF32P4T1, avx512.GemmF32P2T1, avx512.GemmF32P1T1}, 2: {avx512.GemmF32P4T2, avx512.GemmF32P2T2, avx512.GemmF32P1T2},
		3: {avx512.GemmF32P4T3, avx512.GemmF32P2T3, avx512.GemmF32P1T3}, 4: {avx512.GemmF32P4T4, avx512.GemmF32P2T4, avx512.GemmF32P1T4},
	}
	s.gemm[F16] = [5]gemms{
		1: {avx512.GemmF16P4T1, avx512.GemmF16P2T1, avx512.GemmF16P1T1}, 2: {avx512.GemmF16P4T2, avx512.GemmF16P2T2, avx512.GemmF16P1T2},
		3: {avx512.GemmF16P4T3, avx512.GemmF16P2T3, avx512.GemmF16P1T3}, 4: {avx512.GemmF16P4T4, avx512.GemmF16P2T4, avx512.GemmF16P1T4},
	}
	s.gemm[BF16] = [5]gemms{
		1: {avx512.GemmBF16P4T1, avx512.GemmBF16P2T1, avx512.GemmBF16P1T1}, 2: {avx512.GemmBF16P4T2, avx512.GemmBF16P2T2, avx512.GemmBF16P1T2},
		3: {avx512.GemmBF16P4T3, avx512.GemmBF16P2T3, avx512.GemmBF16P1T3}, 4: {avx512.GemmBF16P4T4, avx512.GemmBF16P2T4, avx512.GemmBF16P1T4},
	}
	s.gemm[Q8_0] = [5]gemms{
		1: {avx512.GemmQ8P4T1, avx512.GemmQ8P2T1, avx512.GemmQ8P1T1}, 2: {avx512.GemmQ8P4T2, avx512.GemmQ8P2T2, avx512.GemmQ8P1T2},
		3: {avx512.GemmQ8P4T3, avx512.GemmQ8P2T3, avx512.GemmQ8P1T3}, 4: {avx512.GemmQ8P4T4, avx512.GemmQ8P2T4, avx512.GemmQ8P1T4},
	}
	s.gemm[Q4_1] = [5]gemms{
		1: {avx512.GemmQ41P4T1, avx512.GemmQ41P2T1, avx512.GemmQ41P1T1}, 2: {avx512.GemmQ41P4T2, avx512.GemmQ41P2T2, avx512.GemmQ41P1T2},
		3: {avx512.GemmQ41P4T3, avx512.GemmQ41P2T3, avx512.GemmQ41P1T3}, 4: {avx512.GemmQ41P4T4, avx512.GemmQ41P2T4, avx512.GemmQ41P1T4},
	}
	s.gemm[Q4_0] = [5]gemms{
		1: {avx512.GemmQ40P4T1, avx512.GemmQ40P2T1, avx512.GemmQ40P1T1}, 2: {avx512.GemmQ40P4T2, avx512.GemmQ40P2T2, avx512.GemmQ40P1T2},
		3: {avx512.GemmQ40P4T3, avx512.GemmQ40P2T3, avx512.GemmQ40P1T3}, 4: {avx512.GemmQ40P4T4, avx512.GemmQ40P2T4, avx512.GemmQ40P1T4},
	}
	return s
}

func pause(n int) { avx2.Pause(n) }
