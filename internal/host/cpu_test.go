package host

import (
	"os"
	"runtime"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name, text string
		want       CPUTimes
		wantErr    bool
	}{
		{"full", "cpu  10 2 5 100 3 1 4 6 9 9\ncpu0 1\n", CPUTimes{Busy: 220 * ms, Steal: 60 * ms, Total: 1310 * ms}, false},
		{"old kernel without steal", "cpu  10 2 5 100 3 1 4\n", CPUTimes{Busy: 220 * ms, Total: 1250 * ms}, false},
		{"empty", "", CPUTimes{}, true},
		{"other line", "intr 1 2 3 4 5 6 7 8\n", CPUTimes{}, true},
		{"not a number", "cpu 1 2 x 4 5 6 7 8\n", CPUTimes{}, true},
	}
	for _, tt := range tests {
		got, err := parseStat(tt.text)
		if (err != nil) != tt.wantErr || got != tt.want {
			t.Errorf("%s: got %+v, %v; want %+v, error %v", tt.name, got, err, tt.want, tt.wantErr)
		}
	}
}

func TestParseProcess(t *testing.T) {
	const tail = " S 40 41 5502 0 -1 4194304 99 0 0 0 7 3 20 10 20 0 1 0 581195"
	tests := []struct {
		name, text string
		want       process
		ok         bool
	}{
		{"plain", "42 (cat)" + tail, process{42, 40, 41, 400 * time.Millisecond}, true},
		{"name with spaces and brackets", "42 (a) R (b c)" + tail, process{42, 40, 41, 400 * time.Millisecond}, true},
		{"gone", "", process{}, false},
		{"cut short", "42 (cat) S 40 41", process{}, false},
		{"not a number", "42 (cat) S x 41 5502 0 -1 4194304 99 0 0 0 7 3 20 10 20 0 1 0", process{}, false},
	}
	for _, tt := range tests {
		got, ok := parseProcess(tt.text)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s: got %+v, %v; want %+v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func FuzzParseProcess(f *testing.F) {
	f.Add("42 (cat) S 40 41 5502 0 -1 4194304 99 0 0 0 7 3 20 10 20 0 1 0 581195")
	f.Add(") (")
	f.Fuzz(func(t *testing.T, text string) {
		if p, ok := parseProcess(text); ok && text == "" {
			t.Errorf("nothing parsed as %+v", p)
		}
	})
}

func TestReadCPUTimes(t *testing.T) {
	stat := func(pid, parent, group, time string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(pid + " (p) S " + parent + " " + group + " 0 0 -1 0 0 0 0 0 " + time + " 0 0 0 20 0 1 0 1")}
	}
	root := fstest.MapFS{
		"proc/stat":     {Data: []byte("cpu 1000 0 0 1000 0 0 0 0\n")},
		"proc/version":  {Data: []byte("Linux")},
		"proc/1/stat":   stat("1", "0", "1", "500"),
		"proc/10/stat":  stat("10", "1", "10", "1"),   // a root
		"proc/12/stat":  stat("12", "11", "11", "4"),  // grandchild, listed before its parent's turn
		"proc/11/stat":  stat("11", "10", "11", "2"),  // child in a group of its own
		"proc/20/stat":  stat("20", "1", "10", "8"),   // orphan that stayed in the root's group
		"proc/30/stat":  stat("30", "1", "30", "100"), // a stranger
		"proc/100/stat": {Data: []byte("")},           // ended meanwhile
	}
	tests := []struct {
		name string
		pids []int
		want time.Duration
	}{
		{"tree and group", []int{10}, 150 * time.Millisecond},
		{"two roots, no double count", []int{10, 11}, 150 * time.Millisecond},
		{"child alone", []int{11}, 60 * time.Millisecond},
		{"unknown", []int{77}, 0},
		{"none", nil, 0},
	}
	for _, tt := range tests {
		got, err := readCPUTimes(root, tt.pids)
		if err != nil {
			t.Fatal(err)
		}
		want := CPUTimes{Busy: 10 * time.Second, Total: 20 * time.Second, Own: tt.want}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if _, err := readCPUTimes(fstest.MapFS{}, nil); err == nil {
		t.Error("no /proc: got no error")
	}
}

func TestLoad(t *testing.T) {
	const s = time.Second
	before := CPUTimes{Busy: 10 * s, Total: 100 * s, Own: 5 * s, Steal: s}
	tests := []struct {
		name  string
		after CPUTimes
		want  Load
	}{
		{"same moment", before, Load{}},
		{"ours and foreign", CPUTimes{Busy: 18 * s, Total: 120 * s, Own: 10 * s, Steal: 2 * s}, Load{Busy: 0.4, Own: 0.25, Foreign: 0.15, Steal: 0.05}},
		{"ticks rounded against us", CPUTimes{Busy: 14 * s, Total: 120 * s, Own: 10 * s, Steal: s}, Load{Busy: 0.2, Own: 0.25}},
		{"own tree ended elsewhere", CPUTimes{Busy: 14 * s, Total: 120 * s, Own: s, Steal: s}, Load{Busy: 0.2, Foreign: 0.2}},
	}
	for _, tt := range tests {
		got := tt.after.Since(before)
		got.Foreign = float64(int(got.Foreign*1e6+0.5)) / 1e6
		if got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestReadCPUHere(t *testing.T) {
	before, err := ReadCPU(os.Getpid())
	if runtime.GOOS != "linux" {
		if err != ErrNoCPUTimes {
			t.Fatalf("got %v, want ErrNoCPUTimes", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(60 * time.Millisecond); time.Now().Before(end); {
	}
	after, err := ReadCPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if after.Own <= before.Own || after.Total <= before.Total {
		t.Errorf("60 ms of work left no trace: before %+v, after %+v", before, after)
	}
}
