// Package avx2 is the generated AVX2 assembly of package kernel (see _asm). It needs AVX2, FMA and F16C; package kernel
// checks that and is the only caller.
package avx2
