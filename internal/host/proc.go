package host

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// collectProc fills fp from a Linux /proc and /sys seen through root ("/" of the machine, or a fixture).
func collectProc(root fs.FS, fp *Fingerprint) {
	fp.Kernel = readLine(root, "proc/sys/kernel/osrelease")
	fp.CPU = cpuName(readText(root, "proc/cpuinfo"))
	fp.MemoryMB = memoryMB(readText(root, "proc/meminfo"))
	fp.Governor = readLine(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	fp.GPUs = nvidiaGPUs(root)
}

// cpuName is the processor's marketing name; ARM kernels give only implementer and part numbers. Family, model and
// stepping follow because cloud providers sell several processors under one bare name.
func cpuName(cpuinfo string) string {
	facts := firstBlock(cpuinfo)
	if name := facts["model name"]; name != "" && facts["cpu family"] != "" {
		return strings.Join(strings.Fields(name), " ") +
			" (family " + facts["cpu family"] + " model " + facts["model"] + " stepping " + facts["stepping"] + ")"
	} else if name != "" {
		return strings.Join(strings.Fields(name), " ")
	}
	if impl := facts["CPU implementer"]; impl != "" {
		return "ARM implementer " + impl + " part " + facts["CPU part"] + " variant " + facts["CPU variant"]
	}
	return facts["cpu model"]
}

// firstBlock reads "key : value" lines up to the first empty line.
func firstBlock(text string) map[string]string {
	facts := map[string]string{}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			break
		}
		if key, value, ok := strings.Cut(line, ":"); ok {
			facts[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return facts
}

func memoryMB(meminfo string) int {
	for line := range strings.Lines(meminfo) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "MemTotal:" {
			kb, err := strconv.Atoi(f[1])
			if err != nil {
				return 0
			}
			return kb / 1024
		}
	}
	return 0
}

// nvidiaGPUs lists the GPUs the NVIDIA kernel driver announces, with its version, without running any tool. The
// driver's files also hold UUIDs, which are left out: a fingerprint must not identify one owner's board.
func nvidiaGPUs(root fs.FS) []string {
	cards, err := fs.Glob(root, "proc/driver/nvidia/gpus/*/information")
	if err != nil || len(cards) == 0 {
		return nil
	}
	var gpus []string
	for _, card := range cards {
		if model := firstBlock(readText(root, card))["Model"]; model != "" {
			gpus = append(gpus, model)
		} else {
			gpus = append(gpus, "NVIDIA "+path.Base(path.Dir(card)))
		}
	}
	slices.Sort(gpus)
	return gpus
}

func readText(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return string(b)
}

func readLine(root fs.FS, name string) string {
	line, _, _ := strings.Cut(readText(root, name), "\n")
	return strings.TrimSpace(line)
}
