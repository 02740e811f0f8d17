package host

import "golang.org/x/sys/cpu"

// features names the instruction sets that decide which kernels run, in the order they were introduced.
func features() []string {
	x := cpu.ARM64
	return present([]feature{
		{"neon", x.HasASIMD},
		{"fp16", x.HasASIMDHP},
		{"dotprod", x.HasASIMDDP},
		{"sve", x.HasSVE},
		{"sve2", x.HasSVE2},
		{"i8mm", x.HasI8MM},
	})
}
