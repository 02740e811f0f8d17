package host

import (
	"runtime"
	"runtime/debug"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const epyc = `processor	: 0
vendor_id	: AuthenticAMD
cpu family	: 25
model		: 1
model name	: AMD  EPYC 7B13
stepping	: 0

processor	: 1
model name	: another
`

const neoverse = `processor	: 0
BogoMIPS	: 2000.00
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x1
CPU part	: 0xd40
`

func TestCollectProc(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	full := fstest.MapFS{
		"proc/sys/kernel/osrelease": file("6.8.0-45-generic\n"),
		"proc/cpuinfo":              file(epyc),
		"proc/meminfo":              file("MemTotal:        8052736 kB\nMemFree:  1 kB\n"),
		"proc/driver/nvidia/gpus/0000:01:00.0/information":     file("Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-1\n"),
		"proc/driver/nvidia/gpus/0000:02:00.0/information":     file("IRQ: 1\n"),
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": file("powersave\n"),
	}
	tests := []struct {
		name string
		root fstest.MapFS
		want Fingerprint
	}{
		{"all", full, Fingerprint{
			Kernel: "6.8.0-45-generic", CPU: "AMD EPYC 7B13 (family 25 model 1 stepping 0)",
			MemoryMB: 7864, Governor: "powersave", GPUs: []string{"NVIDIA 0000:02:00.0", "NVIDIA H200"},
		}},
		{"nothing", fstest.MapFS{}, Fingerprint{}},
		{"arm", fstest.MapFS{"proc/cpuinfo": file(neoverse)}, Fingerprint{CPU: "ARM implementer 0x41 part 0xd40 variant 0x1"}},
		{"bad memory", fstest.MapFS{"proc/meminfo": file("MemTotal: many kB\n")}, Fingerprint{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got Fingerprint
			collectProc(tt.root, &got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("collectProc (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMachineHash(t *testing.T) {
	base := Fingerprint{OS: "linux/amd64", CPU: "c", Cores: 2, ISA: []string{"avx2"}, MemoryMB: 24152, Kernel: "6.1", Treeline: "v1"}
	change := func(f func(*Fingerprint)) Fingerprint { c := base; f(&c); return c }
	tests := []struct {
		name string
		fp   Fingerprint
		same bool
	}{
		{"itself", base, true},
		{"new kernel", change(func(f *Fingerprint) { f.Kernel = "6.2" }), true},
		{"new version", change(func(f *Fingerprint) { f.Treeline = "v2" }), true},
		{"kernel reserves a little more", change(func(f *Fingerprint) { f.MemoryMB -= 40 }), true},
		{"governor", change(func(f *Fingerprint) { f.Governor = "powersave" }), true},
		{"other CPU", change(func(f *Fingerprint) { f.CPU = "d" }), false},
		{"more cores", change(func(f *Fingerprint) { f.Cores = 4 }), false},
		{"more memory", change(func(f *Fingerprint) { f.MemoryMB *= 2 }), false},
		{"a GPU", change(func(f *Fingerprint) { f.GPUs = []string{"H200"} }), false},
	}
	for _, tt := range tests {
		if got := machineHash(tt.fp) == machineHash(base); got != tt.same {
			t.Errorf("%s: same machine = %v, want %v", tt.name, got, tt.same)
		}
	}
}

func TestCollectThisMachine(t *testing.T) {
	fp := Collect()
	if len(fp.Machine) != 16 || fp.Cores < 1 || fp.Go != runtime.Version() || fp.Treeline == "" || fp.ISA == nil {
		t.Errorf("Collect() = %+v", fp)
	}
	if runtime.GOOS == "linux" && (fp.Kernel == "" || fp.MemoryMB == 0) {
		t.Errorf("on Linux kernel and memory are known, got %+v", fp)
	}
	if again := Collect(); again.Machine != fp.Machine {
		t.Errorf("Machine changed from %s to %s", fp.Machine, again.Machine)
	}
}

func TestVersion(t *testing.T) {
	setting := func(k, v string) debug.BuildSetting { return debug.BuildSetting{Key: k, Value: v} }
	tests := []struct {
		version  string
		settings []debug.BuildSetting
		want     string
	}{
		{"v1.2.3", nil, "v1.2.3"},
		{"(devel)", nil, "devel"},
		{"", []debug.BuildSetting{setting("vcs.revision", "0123456789abcdef")}, "devel-0123456789ab"},
		{"(devel)", []debug.BuildSetting{setting("vcs.revision", "01"), setting("vcs.modified", "true")}, "devel-01+dirty"},
	}
	for _, tt := range tests {
		info := &debug.BuildInfo{Main: debug.Module{Version: tt.version}, Settings: tt.settings}
		if got := versionOf(info); got != tt.want {
			t.Errorf("versionOf(%q, %v) = %q, want %q", tt.version, tt.settings, got, tt.want)
		}
	}
}

func TestSummary(t *testing.T) {
	fp := Fingerprint{CPU: "Zen", Cores: 1, MemoryMB: 4096, ISA: []string{"avx2", "fma"}, OS: "linux/amd64", Kernel: "6.1", GPUs: []string{"L4"}}
	if got, want := fp.Summary(), "Zen, 1 core, 4 GB memory, avx2 fma, L4, linux/amd64 6.1"; got != want {
		t.Errorf("Summary() = %q, want %q", got, want)
	}
	if got, want := (Fingerprint{Cores: 8}).Summary(), "unknown CPU, 8 cores"; got != want {
		t.Errorf("Summary() = %q, want %q", got, want)
	}
}
