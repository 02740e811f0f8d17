package kernel_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"treeline/internal/infer/kernel"
	"treeline/internal/infer/kernel/kerneltest"
)

// TestConformance runs the suite on every set that this machine has.
func TestConformance(t *testing.T) {
	kerneltest.Run(t, kernel.Sets()...)
	if len(kernel.Sets()) < 3 {
		t.Logf("this machine runs %d of 3 sets", len(kernel.Sets()))
	}
}

// TestOtherBuilds vets the package as it is built without assembly and on another architecture.
func TestOtherBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the package twice")
	}
	for _, env := range []string{"GOARCH=arm64", "GOFLAGS=-tags=purego"} {
		cmd := exec.Command("go", "vet", "./...")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", env)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s go vet: %v\n%s", env, err, out)
		}
	}
}

// TestGenerated regenerates the assembly and compares: what is committed is what the generator makes.
func TestGenerated(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	generator := filepath.Join(t.TempDir(), "asm")
	build := exec.Command("go", "build", "-o", generator, ".")
	build.Dir = filepath.Join(root, "_asm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("the generator cannot be built here (its modules may not be at hand): %v\n%s", err, out)
	}
	for _, set := range []string{"avx2", "avx512"} {
		dir := t.TempDir()
		// The relative path of the output is part of the files' first line.
		cmd := exec.Command(generator, "-set", set, "-pkg", set, "-out", filepath.Join(dir, "kernels_amd64.s"), "-stubs", filepath.Join(dir, "kernels_amd64.go"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("generate %s: %v\n%s", set, err, out)
		}
		for _, name := range []string{"kernels_amd64.s", "kernels_amd64.go"} {
			if !equalFiles(t, filepath.Join(dir, name), filepath.Join("amd64", set, name)) {
				t.Errorf("amd64/%s/%s is not what the generator makes: run _asm/generate.sh", set, name)
			}
		}
	}
}

// equalFiles compares all but the first line, which names the command.
func equalFiles(t *testing.T, a, b string) bool {
	t.Helper()
	return body(t, a) == body(t, b)
}

func body(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range data {
		if c == '\n' {
			return string(data[i:])
		}
	}
	return ""
}
