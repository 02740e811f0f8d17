package plan

import (
	"fmt"
	"slices"

	"treeline/internal/measure/workload"
)

// resolve turns a valid form into a plan: it draws the prompts and lays out the order of starts.
func resolve(source string, form file) (Plan, error) {
	p := Plan{
		Name: form.Name, Source: source, Seed: *form.Seed, Margin: *form.Margin, Baseline: form.Baseline,
		Workload: Workload{
			MaxTokens: *form.Workload.MaxTokens, Temperature: *form.Workload.Temperature,
			IgnoreEOS: form.Workload.IgnoreEOS, Warmup: *form.Workload.Warmup, Trials: *form.Workload.Trials,
			StallTimeout: *form.Workload.StallTimeout,
		},
		Idle: Idle{MaxForeign: *form.Idle.MaxForeign, Wait: *form.Idle.Wait},
	}
	var names []string
	for _, a := range form.Arms {
		p.Arms = append(p.Arms, a.resolve(source))
		names = append(names, a.Name)
	}
	p.Order = Order(names, *form.Blocks, p.Seed)
	var err error
	if p.Prompts, err = form.Workload.draw(source, p.Seed); err != nil {
		return Plan{}, fmt.Errorf("plan %s: %w", source, err)
	}
	return p, nil
}

func (a fileArm) resolve(source string) Arm {
	arm := Arm{
		Name: a.Name, Method: a.Method, Command: a.Command, Port: a.Port, Server: a.Server,
		RequestModel: a.RequestModel, ReadyTimeout: *a.ReadyTimeout, Tuned: a.Tuned,
	}
	if a.Treeline != nil {
		arm.Model, arm.Flags, arm.Server = modelPath(source, a.Treeline.Model), a.Treeline.Flags, "treeline"
	}
	for key, value := range a.Env {
		arm.Env = append(arm.Env, key+"="+value)
	}
	slices.Sort(arm.Env)
	return arm
}

// draw takes the prompts of the plan: an equal number of every category of the built-in set, or those of a file.
func (w fileWorkload) draw(source string, seed uint64) ([]workload.Prompt, error) {
	if w.File != "" {
		prompts, err := workload.LoadFile(beside(source, w.File))
		if err != nil {
			return nil, err
		}
		if w.Prompts != nil {
			prompts = workload.Sample(prompts, *w.Prompts, seed)
		}
		return prompts, nil
	}
	prompts := workload.BuiltIn()
	if len(w.Categories) > 0 {
		prompts = slices.DeleteFunc(prompts, func(p workload.Prompt) bool { return !slices.Contains(w.Categories, p.Category) })
	}
	categories := map[string]bool{}
	for _, p := range prompts {
		categories[p.Category] = true
	}
	return workload.Sample(prompts, *w.PerCategory*len(categories), seed), nil
}
