package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// LockFile is the name of the resolved plan in a run folder, LockSchema its form.
const (
	LockFile   = "plan.lock.yaml"
	LockSchema = "treeline.plan.lock/1"
)

const lockNotice = "# The resolved plan of this run, written before its first start. Not for editing: the hash covers every line below it.\n"

// lock is the form of plan.lock.yaml.
type lock struct {
	Schema   string        `yaml:"schema"`
	Treeline string        `yaml:"treeline"` // version that made it
	Name     string        `yaml:"name,omitempty"`
	Seed     uint64        `yaml:"seed"`
	Margin   float64       `yaml:"margin"`
	Baseline string        `yaml:"baseline"`
	Primary  []string      `yaml:"primary,flow"` // arms compared with the baseline
	Order    [][]string    `yaml:"order,flow"`
	Workload lockWorkload  `yaml:"workload"`
	Idle     lockIdle      `yaml:"idle"`
	Arms     []lockArm     `yaml:"arms"`
	Prompts  []lockPrompts `yaml:"prompts"`
}

type lockWorkload struct {
	MaxTokens    int           `yaml:"max_tokens"`
	Temperature  float64       `yaml:"temperature"`
	IgnoreEOS    bool          `yaml:"ignore_eos"`
	Warmup       int           `yaml:"warmup"`
	Trials       int           `yaml:"trials"`
	StallTimeout time.Duration `yaml:"stall_timeout"`
}

type lockIdle struct {
	MaxForeign float64       `yaml:"max_foreign"`
	Wait       time.Duration `yaml:"wait"`
}

type lockArm struct {
	Name         string        `yaml:"name"`
	Method       string        `yaml:"method"`
	Model        string        `yaml:"model,omitempty"`
	ModelBytes   int64         `yaml:"model_bytes,omitempty"`   // size of the model file
	ModelChanged string        `yaml:"model_changed,omitempty"` // its time of change, UTC
	Flags        []string      `yaml:"flags,omitempty,flow"`
	Command      []string      `yaml:"command,omitempty,flow"`
	Env          []string      `yaml:"env,omitempty"`
	Port         int           `yaml:"port,omitempty"`
	Server       string        `yaml:"server,omitempty"`
	RequestModel string        `yaml:"request_model,omitempty"`
	ReadyTimeout time.Duration `yaml:"ready_timeout"`
	Tuned        bool          `yaml:"tuned"`
}

type lockPrompts struct {
	ID     string `yaml:"id"`
	SHA256 string `yaml:"sha256"` // of the text
}

// Lock writes p as plan.lock.yaml text with its hash, "sha256:...". Two plans have the same hash exactly when they
// ask for the same experiment by the same version of this program.
func Lock(p Plan, version string) (text []byte, hash string, err error) {
	l := lock{
		Schema: LockSchema, Treeline: version, Name: p.Name, Seed: p.Seed, Margin: p.Margin, Baseline: p.Baseline,
		Primary: p.Others(), Order: p.Order, Workload: lockWorkload(p.Workload), Idle: lockIdle(p.Idle),
	}
	for _, a := range p.Arms {
		l.Arms = append(l.Arms, lockedArm(a))
	}
	for _, prompt := range p.Prompts {
		sum := sha256.Sum256([]byte(prompt.Text))
		l.Prompts = append(l.Prompts, lockPrompts{ID: prompt.ID, SHA256: hex.EncodeToString(sum[:])})
	}
	var body bytes.Buffer
	enc := yaml.NewEncoder(&body)
	enc.SetIndent(2)
	if err := enc.Encode(l); err != nil {
		return nil, "", fmt.Errorf("lock plan: %w", err)
	}
	hash = hashOf(body.Bytes())
	return append([]byte(lockNotice+"hash: "+hash+"\n"), body.Bytes()...), hash, nil
}

// lockedArm adds what identifies the model file, so that a file swapped between two runs does not go unnoticed.
func lockedArm(a Arm) lockArm {
	l := lockArm{
		Name: a.Name, Method: a.Method, Model: a.Model, Flags: a.Flags, Command: a.Command, Env: a.Env, Port: a.Port,
		Server: a.Server, RequestModel: a.RequestModel, ReadyTimeout: a.ReadyTimeout, Tuned: a.Tuned,
	}
	if info, err := os.Stat(a.Model); a.Model != "" && err == nil {
		l.ModelBytes, l.ModelChanged = info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano)
	}
	return l
}

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ReadLockHash returns the hash of the lock file in a run folder, after checking that the file is as it was written.
func ReadLockHash(dir string) (string, error) {
	path := filepath.Join(dir, LockFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read locked plan: %w", err)
	}
	_, rest, ok := strings.Cut(string(b), "hash: ")
	hash, body, ok2 := strings.Cut(rest, "\n")
	if !ok || !ok2 {
		return "", fmt.Errorf("read locked plan %s: it has no hash; was it written by treeline?", path)
	}
	if got := hashOf([]byte(body)); got != hash {
		return "", fmt.Errorf("read locked plan %s: its hash does not fit its content; it was edited after the run began", path)
	}
	return hash, nil
}

// ReadLockRule returns what the lock file in a run folder says about the verdict: the baseline and the margin.
func ReadLockRule(dir string) (baseline string, margin float64, err error) {
	path := filepath.Join(dir, LockFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return "", 0, fmt.Errorf("read locked plan: %w", err)
	}
	var l lock
	if err := yaml.Unmarshal(b, &l); err != nil {
		return "", 0, fmt.Errorf("read locked plan %s: %w", path, err)
	}
	return l.Baseline, l.Margin, nil
}
