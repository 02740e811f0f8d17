package server

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"treeline/internal/infer/engine"
	"treeline/internal/sharedtest"
)

// TestOfficialClients drives the server with the official openai packages where they are installed. bench/clients
// says how; the same scripts check a real server.
func TestOfficialClients(t *testing.T) {
	scripts := filepath.Join(sharedtest.Root(t), "bench", "clients")
	python, node := os.Getenv("TREELINE_OPENAI_PYTHON"), os.Getenv("TREELINE_OPENAI_NODE")
	if python == "" && node == "" {
		t.Skip("set TREELINE_OPENAI_PYTHON to a Python that has the package openai, TREELINE_OPENAI_NODE to a folder whose node_modules have it")
	}
	f := serve(t, fixtureOptions{method: "NGRAM", engine: engine.Options{MaxRunning: 4}})
	if python != "" {
		out, err := exec.CommandContext(t.Context(), python, filepath.Join(scripts, "check.py"), f.url+"/v1").CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Errorf("check.py: %v", err)
		}
	}
	if node != "" {
		src, err := os.ReadFile(filepath.Join(scripts, "check.mjs"))
		if err != nil {
			t.Fatal(err)
		}
		script := filepath.Join(node, "check.mjs") // beside its node_modules
		if err := os.WriteFile(script, src, 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "node", script, f.url+"/v1").CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Errorf("check.mjs: %v", err)
		}
	}
}
