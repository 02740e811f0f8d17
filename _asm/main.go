// Command asm generates the assembly of the kernel packages. It is a module of its own, so that the engine does not
// depend on the generator. See generate.sh.
package main

import (
	"flag"

	. "github.com/mmcloughlin/avo/build"
)

func main() {
	set := flag.String("set", "", "avx2 or avx512")
	flag.Parse()
	ConstraintExpr("!purego")
	switch *set {
	case "avx2":
		avx2()
	case "avx512":
		avx512()
	default:
		panic("-set: want avx2 or avx512")
	}
	Generate()
}
