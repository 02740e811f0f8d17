package host

import "golang.org/x/sys/cpu"

// features names the instruction sets that decide which kernels run, in the order they were introduced.
func features() []string {
	x := cpu.X86
	return present([]feature{
		{"sse4.1", x.HasSSE41},
		{"avx2", x.HasAVX2},
		{"fma", x.HasFMA},
		{"avx512f", x.HasAVX512F},
		{"avx512bw", x.HasAVX512BW},
		{"avx512vl", x.HasAVX512VL},
		{"avx512vnni", x.HasAVX512VNNI},
		{"avx512bf16", x.HasAVX512BF16},
		{"avxvnni", x.HasAVXVNNI},
		{"amxint8", x.HasAMXInt8},
	})
}
