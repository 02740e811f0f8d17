package host

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// ErrNoCPUTimes says that this system does not tell how its processors spend their time.
var ErrNoCPUTimes = errors.New("CPU use is only read on Linux")

// clockTick is the unit of CPU times in /proc. Linux fixes USER_HZ at 100 on every architecture Go supports.
const clockTick = time.Second / 100

// CPUTimes is what the processors have done since boot, at one moment. All values are sums over cores.
type CPUTimes struct {
	Busy  time.Duration // user, system and interrupts, of all processes
	Steal time.Duration // taken by the hypervisor
	Total time.Duration // everything, idle included: (time since boot) x cores
	Own   time.Duration // of the process trees asked for, children that ended and were waited for included
}

// Load is the use of the machine between two moments, as shares of all its cores (0 to 1).
type Load struct {
	Busy    float64
	Own     float64
	Foreign float64 // Busy - Own: what others did; a machine is idle for us when this is small
	Steal   float64
}

// Since gives the use of the machine between the earlier moment prev and t. Two moments closer than a clock tick
// give zeros.
func (t CPUTimes) Since(prev CPUTimes) Load {
	total := float64(t.Total - prev.Total)
	if total <= 0 {
		return Load{}
	}
	share := func(a, b time.Duration) float64 { return max(0, min(1, float64(a-b)/total)) }
	l := Load{Busy: share(t.Busy, prev.Busy), Own: share(t.Own, prev.Own), Steal: share(t.Steal, prev.Steal)}
	l.Foreign = max(0, l.Busy-l.Own)
	return l
}

// readCPUTimes reads a Linux /proc seen through root. Roots are the processes whose trees count as Own: each with
// its descendants and everything in its process group.
func readCPUTimes(root fs.FS, roots []int) (CPUTimes, error) {
	t, err := parseStat(readText(root, "proc/stat"))
	if err != nil {
		return CPUTimes{}, fmt.Errorf("read CPU use from /proc/stat: %w", err)
	}
	processes, err := readProcesses(root)
	if err != nil {
		return CPUTimes{}, fmt.Errorf("read CPU use of processes from /proc: %w", err)
	}
	t.Own = treeTime(processes, roots)
	return t, nil
}

// parseStat reads the summary line "cpu user nice system idle iowait irq softirq steal guest guest_nice"; guest time
// is contained in user time.
func parseStat(text string) (CPUTimes, error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 8 || fields[0] != "cpu" {
		return CPUTimes{}, errors.New("no line \"cpu\" with at least 7 counters")
	}
	var v [8]time.Duration
	for i := range v {
		if i+1 >= len(fields) {
			break
		}
		n, err := strconv.ParseInt(fields[i+1], 10, 64)
		if err != nil {
			return CPUTimes{}, fmt.Errorf("counter %d: %w", i+1, err)
		}
		v[i] = time.Duration(n) * clockTick
	}
	user, nice, system, idle, iowait, irq, softirq, steal := v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]
	busy := user + nice + system + irq + softirq
	return CPUTimes{Busy: busy, Steal: steal, Total: busy + idle + iowait + steal}, nil
}

// process is one line of /proc/PID/stat.
type process struct {
	pid, parent, group int
	time               time.Duration // own time and that of waited-for children
}

func readProcesses(root fs.FS) ([]process, error) {
	entries, err := fs.ReadDir(root, "proc")
	if err != nil {
		return nil, err
	}
	var all []process
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		// A process may end between the listing and the read; its time then reaches its parent.
		if p, ok := parseProcess(readText(root, "proc/"+e.Name()+"/stat")); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// parseProcess reads /proc/PID/stat. The second field is the command's name in parentheses and may itself hold
// spaces and parentheses, so fields are counted from the last ")".
func parseProcess(stat string) (process, bool) {
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 1 || end < open {
		return process{}, false
	}
	fields := strings.Fields(stat[end+1:]) // fields[0] is the state, field 3 in proc(5)
	if len(fields) < 15 {
		return process{}, false
	}
	bad := false
	number := func(s string) int64 {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		bad = bad || err != nil
		return n
	}
	p := process{pid: int(number(stat[:open])), parent: int(number(fields[1])), group: int(number(fields[2]))}
	for _, f := range fields[11:15] { // utime, stime, cutime, cstime
		p.time += time.Duration(number(f)) * clockTick
	}
	return p, !bad
}

// treeTime sums the time of the processes in the trees of roots.
func treeTime(processes []process, roots []int) time.Duration {
	mine := map[int]bool{}
	for _, pid := range roots {
		mine[pid] = true
	}
	var sum time.Duration
	counted := map[int]bool{}
	for grown := true; grown; {
		grown = false
		for _, p := range processes {
			if counted[p.pid] || !(mine[p.pid] || mine[p.parent] || isRoot(roots, p.group)) {
				continue
			}
			mine[p.pid], counted[p.pid], grown = true, true, true
			sum += p.time
		}
	}
	return sum
}

// isRoot reports whether group is led by one of the roots: orphans of a server stay in its process group.
func isRoot(roots []int, group int) bool {
	for _, pid := range roots {
		if pid == group {
			return true
		}
	}
	return false
}
