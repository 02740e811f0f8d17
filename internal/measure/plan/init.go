package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	"treeline/internal/measure/strictyaml"
)

// InitOptions say what plan Init writes. Zero numbers mean the defaults of a plan.
type InitOptions struct {
	Name        string
	Model       string   // of `treeline serve`
	Arms        []string // NAME=METHOD; the first is the baseline
	Flags       []string // further flags of `treeline serve`, the same for all arms
	Seed        uint64
	Blocks      int
	PerCategory int
	MaxTokens   int
	Warmup      int
	Stall       time.Duration
}

// Init writes the text of a plan that compares methods of our own server on one model. The text explains itself and
// reads back through Parse.
func Init(o InitOptions) (string, error) {
	if o.Model == "" {
		return "", fmt.Errorf("plan --init: no model; give --treeline MODEL (a GGUF file, a folder, or a name that pull knows)")
	}
	type arm struct{ Name, Method string }
	var arms []arm
	for _, pair := range o.Arms {
		name, method, ok := strings.Cut(pair, "=")
		if !ok {
			return "", fmt.Errorf("plan --init: arm %q; write NAME=METHOD, such as plain=NONE", pair)
		}
		arms = append(arms, arm{strings.TrimSpace(name), strings.ToLower(strings.TrimSpace(method))})
	}
	def := func(n *int, value int) {
		if *n == 0 {
			*n = value
		}
	}
	def(&o.Blocks, defaultBlocks)
	def(&o.PerCategory, defaultPerCategory)
	def(&o.MaxTokens, defaultMaxTokens)
	def(&o.Warmup, defaultWarmup)
	if o.Seed == 0 {
		o.Seed = 1
	}
	var b strings.Builder
	err := template.Must(template.New("plan").Funcs(template.FuncMap{"quote": quote}).Parse(initText)).Execute(&b, struct {
		InitOptions
		Arms   []arm
		Schema string
	}{o, arms, Schema})
	if err != nil {
		return "", fmt.Errorf("plan --init: %w", err)
	}
	_, err = Parse("plan", []byte(b.String()))
	var faults strictyaml.Errors
	if errors.As(err, &faults) { // places in a text that nobody has seen help nobody
		var messages []string
		for _, f := range faults {
			messages = append(messages, f.Msg)
		}
		return "", fmt.Errorf("plan --init: %s", strings.Join(messages, "; "))
	}
	if err != nil {
		return "", fmt.Errorf("plan --init: %w", err)
	}
	return b.String(), nil
}

// quote writes a JSON string, which is also a YAML string.
func quote(s string) (string, error) {
	b, err := json.Marshal(s)
	return string(b), err
}

const initText = `# What is compared, on what, how often: decided before anything is measured. ` + "`treeline run`" + ` carries it out.
schema: {{.Schema}}
{{- if .Name}}
name: {{quote .Name}}
{{- end}}
seed: {{.Seed}}                # of the draw of prompts and the order of starts
blocks: {{.Blocks}}              # each block starts every arm once, freshly; 3 at least for a verdict, 4 to 10 for small effects
margin: 0.02           # differences in speed below 2 % are negligible
{{- if .Arms}}
baseline: {{(index .Arms 0).Name}}{{end}}

workload:
  per_category: {{.PerCategory}}      # prompts of each of the 8 built-in categories; or file: prompts.jsonl
  max_tokens: {{.MaxTokens}}
  temperature: 0
  ignore_eos: false
  warmup: {{.Warmup}}            # requests before the measured ones, on other prompts
  trials: 1            # passes over the prompts in each start
{{- if .Stall}}
  stall_timeout: {{.Stall}}   # a request that is silent for longer has failed
{{- end}}

idle:
  max_foreign: 0.1     # share of the machine that other programs may use
  wait: 10s            # how long a start waits for that

arms:
{{- range .Arms}}
  - name: {{.Name}}
    method: {{.Method}}
    treeline:
      model: {{quote $.Model}}
{{- if $.Flags}}
      flags: [{{range $i, $f := $.Flags}}{{if $i}}, {{end}}{{quote $f}}{{end}}]
{{- end}}
{{- end}}
`
