package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"treeline/internal/host"
	"treeline/internal/measure/plan"
	"treeline/internal/measure/record"
)

// The names of what an experiment adds to a run folder.
const (
	PlanFile       = "plan.yaml" // the plan as its author wrote it
	ReportFile     = "report.html"
	StartFile      = "start.json" // in a start's folder: its record.Start; there when the start is finished
	ServerLogFile  = "server.log" // in a start's folder
	SetAsideFolder = "set-aside"  // folders of starts that were disturbed, failed or interrupted
)

// openFolder makes or reopens the run folder, before any server is started. A folder that holds a run is refused
// unless that run is resumed with the very same plan.
func openFolder(o RunOptions) (hash string, err error) {
	text, hash, err := plan.Lock(o.Plan, o.Fingerprint.Treeline)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return "", fmt.Errorf("create run folder: %w; choose another --out", err)
	}
	old, err := plan.ReadLockHash(o.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return hash, createFolder(o, text)
	case err != nil:
		return "", err
	case !o.Resume:
		return "", fmt.Errorf("folder %s already holds a run; continue it with --resume, or choose another --out", o.Dir)
	case old != hash:
		return "", fmt.Errorf("folder %s holds a run of another plan, model file or version of this program, so it can't be continued; choose another --out", o.Dir)
	}
	return hash, sameMachine(o)
}

func createFolder(o RunOptions, lock []byte) error {
	if err := record.CreateFolder(o.Dir, o.Fingerprint); err != nil {
		return err
	}
	if len(o.PlanText) > 0 {
		if err := os.WriteFile(filepath.Join(o.Dir, PlanFile), o.PlanText, 0o644); err != nil {
			return fmt.Errorf("write plan: %w", err)
		}
	}
	if err := os.WriteFile(filepath.Join(o.Dir, plan.LockFile), lock, 0o644); err != nil {
		return fmt.Errorf("write locked plan: %w", err)
	}
	return nil
}

// sameMachine refuses to continue a run that began on another machine: its blocks would no longer be comparable.
func sameMachine(o RunOptions) error {
	var h record.Host
	b, err := os.ReadFile(filepath.Join(o.Dir, record.HostFile))
	if err == nil {
		err = json.Unmarshal(b, &h)
	}
	if err != nil {
		return fmt.Errorf("read %s of the run: %w", record.HostFile, err)
	}
	if h.Fingerprint.Machine != o.Fingerprint.Machine {
		return fmt.Errorf("the run in %s began on another machine (%s); begin a new one here", o.Dir, h.Fingerprint.Summary())
	}
	return nil
}

// finished reads a start that an earlier run finished; nil when there is none.
func finished(folder string) (*record.Start, error) {
	b, err := os.ReadFile(filepath.Join(folder, StartFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read finished start: %w", err)
	}
	var s record.Start
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("read finished start %s: %w", folder, err)
	}
	return &s, nil
}

// setAside moves a start's folder out of the way, so that the start can be measured afresh; nothing is thrown away.
func setAside(dir, folder string) error {
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	aside := filepath.Join(dir, SetAsideFolder)
	if err := os.MkdirAll(aside, 0o755); err != nil {
		return fmt.Errorf("set start aside: %w", err)
	}
	for n := 1; ; n++ {
		to := filepath.Join(aside, fmt.Sprintf("%s-%d", filepath.Base(folder), n))
		if _, err := os.Stat(to); err == nil {
			continue
		}
		if err := os.Rename(folder, to); err != nil {
			return fmt.Errorf("set start aside: %w", err)
		}
		return nil
	}
}

// writeJSON writes v as JSON.
func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return replaceFile(path, append(b, '\n'))
}

// replaceFile leaves the old content or the new one, never half of it.
func replaceFile(path string, b []byte) error {
	if err := os.WriteFile(path+".tmp", b, 0o644); err != nil {
		return fmt.Errorf("write run folder: %w", err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return fmt.Errorf("write run folder: %w", err)
	}
	return nil
}

// CheckFolder fails when dir can't hold a new run: it tells so before a model is looked for or a server started.
func CheckFolder(dir string) error {
	if _, err := plan.ReadLockHash(dir); err == nil {
		return fmt.Errorf("folder %s already holds a run; choose another --out", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create run folder: %w; choose another --out", err)
	}
	probe, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return fmt.Errorf("write run folder: %w; choose another --out", err)
	}
	probe.Close()
	return os.Remove(probe.Name())
}

// fingerprintOf fills in the machine when the caller left it out.
func fingerprintOf(f host.Fingerprint) host.Fingerprint {
	if f.Machine == "" {
		return host.Collect()
	}
	return f
}
