// Package avx512 is the generated AVX-512 assembly of package kernel (see _asm). It needs AVX512 F, BW, VL, DQ and VNNI;
// package kernel checks that and is the only caller.
package avx512
