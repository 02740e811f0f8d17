package plan

import "time"

// file is the form of a plan file. Pointers tell "left out" from zero.
type file struct {
	Schema   string       `yaml:"schema"`
	Name     string       `yaml:"name,omitempty"`
	Seed     *uint64      `yaml:"seed"`
	Blocks   *int         `yaml:"blocks"`
	Margin   *float64     `yaml:"margin"`
	Baseline string       `yaml:"baseline"`
	Workload fileWorkload `yaml:"workload"`
	Idle     fileIdle     `yaml:"idle"`
	Arms     []fileArm    `yaml:"arms"`
}

type fileWorkload struct {
	PerCategory  *int           `yaml:"per_category,omitempty"`
	Categories   []string       `yaml:"categories,omitempty,flow"`
	File         string         `yaml:"file,omitempty"`
	Prompts      *int           `yaml:"prompts,omitempty"`
	MaxTokens    *int           `yaml:"max_tokens"`
	Temperature  *float64       `yaml:"temperature"`
	IgnoreEOS    bool           `yaml:"ignore_eos"`
	Warmup       *int           `yaml:"warmup"`
	Trials       *int           `yaml:"trials"`
	StallTimeout *time.Duration `yaml:"stall_timeout"`
}

type fileIdle struct {
	MaxForeign *float64       `yaml:"max_foreign"`
	Wait       *time.Duration `yaml:"wait"`
}

type fileArm struct {
	Name         string            `yaml:"name"`
	Method       string            `yaml:"method"`
	Treeline     *fileTreeline     `yaml:"treeline,omitempty"`
	Command      []string          `yaml:"command,omitempty,flow"`
	Env          map[string]string `yaml:"env,omitempty"`
	Port         int               `yaml:"port,omitempty"`
	Server       string            `yaml:"server,omitempty"`
	RequestModel string            `yaml:"request_model,omitempty"`
	ReadyTimeout *time.Duration    `yaml:"ready_timeout"`
	Tuned        bool              `yaml:"tuned,omitempty"`
}

type fileTreeline struct {
	Model string   `yaml:"model"`
	Flags []string `yaml:"flags,omitempty,flow"`
}

// DefaultMargin is the relative difference in speed below which nobody should care.
const DefaultMargin = 0.02

// The defaults. A start of the default workload stays below 20 s down to about 40 tokens per second.
const (
	defaultBlocks       = 4
	defaultPerCategory  = 1
	defaultMaxTokens    = 64
	defaultWarmup       = 2
	defaultTrials       = 1
	defaultMaxForeign   = 0.1
	defaultIdleWait     = 10 * time.Second
	defaultStallTimeout = 2 * time.Minute
	defaultReadyTimeout = 5 * time.Minute
)

// fill sets what was left out, so that a lock file shows every value that was in force.
func (f *file) fill() {
	orElse(&f.Seed, 1)
	orElse(&f.Blocks, defaultBlocks)
	orElse(&f.Margin, DefaultMargin)
	orElse(&f.Workload.MaxTokens, defaultMaxTokens)
	orElse(&f.Workload.Temperature, 0)
	orElse(&f.Workload.Warmup, defaultWarmup)
	orElse(&f.Workload.Trials, defaultTrials)
	orElse(&f.Workload.StallTimeout, defaultStallTimeout)
	orElse(&f.Idle.MaxForeign, defaultMaxForeign)
	orElse(&f.Idle.Wait, defaultIdleWait)
	if f.Workload.File == "" {
		orElse(&f.Workload.PerCategory, defaultPerCategory)
	}
	for i := range f.Arms {
		orElse(&f.Arms[i].ReadyTimeout, defaultReadyTimeout)
	}
	if f.Baseline == "" && len(f.Arms) > 0 {
		f.Baseline = f.Arms[0].Name
	}
}

func orElse[T any](p **T, value T) {
	if *p == nil {
		*p = &value
	}
}
