// Package plan reads the plan of an experiment: a YAML file in which a person says what is compared, on which
// prompts and how often, before anything is measured. It resolves a plan to its last detail (prompts, order of
// starts) and locks it with a hash. It starts nothing; package experiment carries a Plan out.
package plan

import (
	"slices"
	"time"

	"treeline/internal/measure/workload"
)

// Schema names the form of a plan file.
const Schema = "treeline.plan/1"

// Plan is a resolved plan. It is not changed after it was made.
type Plan struct {
	Name     string
	Source   string // path of the file it was read from, "" when a command made it
	Seed     uint64 // of the order of starts and of the draw of prompts
	Margin   float64
	Baseline string // name of the arm that every other arm is compared with
	Arms     []Arm
	Order    [][]string // names of arms: one row for each block
	Prompts  []workload.Prompt
	Workload Workload
	Idle     Idle
}

// Arm is one configuration of a server. Either Model (our own server) or Command (any server) is set.
type Arm struct {
	Name         string
	Method       string   // the speculative method it is meant to run, "none" for plain decoding
	Model        string   // model of `treeline serve`
	Flags        []string // further flags of `treeline serve`
	Command      []string // argument vector; in it and in Env "{port}" stands for the port, "{start}" for the start's number
	Env          []string // KEY=VALUE, sorted
	Port         int      // 0: any free one
	Server       string   // kind of server, "" detects it
	RequestModel string   // model name in requests, "" is the server's first
	ReadyTimeout time.Duration
	Tuned        bool // its parameters were searched for on this machine
}

// Workload says what each start is asked.
type Workload struct {
	MaxTokens    int
	Temperature  float64
	IgnoreEOS    bool
	Warmup       int           // requests before the measured ones
	Trials       int           // passes over the prompts
	StallTimeout time.Duration // longest silence before and in an answer; a request that takes longer has failed
}

// Idle says when a machine counts as idle. MaxForeign is the share of all cores (0 to 1) that other programs may use;
// Wait is how long a start waits for that.
type Idle struct {
	MaxForeign float64
	Wait       time.Duration
}

// Starts is the number of server starts that the plan needs.
func (p Plan) Starts() int { return len(p.Order) * len(p.Arms) }

// Requests is the number of requests that each start gets, warm-up included.
func (p Plan) Requests() int { return p.Workload.Warmup + p.Workload.Trials*len(p.Prompts) }

// Arm finds an arm by name. The names in Order and Baseline always exist.
func (p Plan) Arm(name string) Arm {
	i := slices.IndexFunc(p.Arms, func(a Arm) bool { return a.Name == name })
	if i < 0 {
		panic("plan: no arm " + name + ": a plan names only its own arms")
	}
	return p.Arms[i]
}

// Others lists the arms that are compared with the baseline: the primary comparisons.
func (p Plan) Others() []string {
	var names []string
	for _, a := range p.Arms {
		if a.Name != p.Baseline {
			names = append(names, a.Name)
		}
	}
	return names
}

// Methods lists the names of speculative methods that an arm may state, "none" first.
func Methods() []string {
	return []string{"none", "ngram", "suffix", "nextn", "eagle", "eagle3", "dflash", "ddtree", "graft", "draft", "unknown"}
}

// Kinds lists the kinds of servers that an arm may state.
func Kinds() []string {
	return []string{"treeline", "sglang", "vllm", "llamacpp", "trtllm", "ollama", "tgi", "lmstudio", "mlx", "transformers", "generic"}
}
