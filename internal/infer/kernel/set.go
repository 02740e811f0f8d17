package kernel

import (
	"fmt"
	"slices"
	"strings"
)

// gemm multiplies np panels (pstride bytes apart, nunit units each) by ntile tiles of T rows and adds to c, which is
// [panel][ntile*T rows][16]. The activations of a unit are astride bytes apart; a tile is [dword][T].
type gemm func(w *byte, pstride, nunit int, a *byte, astride, ntile int, c *float32, np int)

// gemms are the products of one kind for one tile height: by 4, 2 and 1 panels at a time.
type gemms struct{ p4, p2, p1 gemm }

// Set is one implementation of every operation. All sets give the same bits.
type Set struct {
	// Name is "generic", "avx2" or "avx512".
	Name string

	maxTile int // rows of the tallest tile
	record  func(k Kind) int
	gemm    [kinds][5]gemms // by kind and tile height

	quant                                 [kinds]func(dst *byte, dstride int, x *float32, nunit int) // integer kinds: records of a single row
	interleave2, interleave3, interleave4 func(dst *byte, dstride int, src *byte, rstride, ustride, nunit, quads int)

	sumSquares func(x *float32, n int) float32
	scaleMul   func(dst, x, w *float32, n int, s float32)
	rope       func(v, cos, sin *float32, half int)
	ropeStep   int // half must be a multiple of it, otherwise the definition is used
	ropePairs  func(v, cos, sin *float32, half int)
	siluMul    func(dst *float32, dstride int, gate, up *float32, rows int)
	softmax    func(x *float32, n int)
	store      func(out *float32, ostride, pstride int, c *float32, cstride, rows, np, add int)
}

// Sets are the implementations that this CPU can run, slowest first. The first is the definition in Go.
func Sets() []*Set { return append([]*Set{generic()}, native()...) }

// Best is the fastest set of this CPU.
func Best() *Set {
	all := Sets()
	return all[len(all)-1]
}

// known are the names of all sets that there are, on any machine.
var known = []string{"generic", "avx2", "avx512"}

// ByName finds a set; "" means Best. It fails with the list of names when this CPU or build has no such set.
func ByName(name string) (*Set, error) {
	if name == "" {
		return Best(), nil
	}
	var names []string
	for _, s := range Sets() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	have := strings.Join(names, ", ")
	if slices.Contains(known, name) {
		return nil, fmt.Errorf("kernel set %s: this CPU, or this build of the program, cannot run it (it has %s)", name, have)
	}
	return nil, fmt.Errorf("kernel set %q does not exist (this machine has %s)", name, have)
}

// tile is the tile height for a number of rows: as tall as the set has, or 3 where that pads less.
func (s *Set) tile(rows int) int {
	if rows > 2 && s.maxTile >= 4 && ceil(rows, 3)*3 < ceil(rows, 4)*4 {
		return 3
	}
	return min(rows, s.maxTile)
}
