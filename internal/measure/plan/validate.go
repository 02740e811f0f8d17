package plan

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"treeline/internal/measure/workload"
)

// armName keeps names usable in folder names, tables and command lines.
var armName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)

// validate adds every fault of a filled form.
func (f faults) validate(form file) {
	if form.Schema != Schema {
		f.At(path("schema"), "schema is %q; this version reads %q", form.Schema, Schema)
	}
	if b := *form.Blocks; b < 1 || b > 1000 {
		f.At(path("blocks"), "blocks is %d; give 1 to 1000 (3 at least for a verdict)", b)
	}
	if m := *form.Margin; !(m > 0 && m < 1) {
		f.At(path("margin"), "margin is %g; give a share above 0 and below 1, such as 0.02 for 2 %%", m)
	}
	f.workload(form.Workload)
	if s := *form.Idle.MaxForeign; !(s >= 0 && s <= 1) {
		f.At(path("idle", "max_foreign"), "max_foreign is %g; give a share of the machine from 0 to 1", s)
	}
	if *form.Idle.Wait < 0 {
		f.At(path("idle", "wait"), "wait is negative")
	}
	f.arms(form)
}

func path(steps ...any) []any { return steps }

func (f faults) workload(w fileWorkload) {
	known := workload.Categories()
	for i, c := range w.Categories {
		if !slices.Contains(known, c) {
			f.At(path("workload", "categories", i), "unknown category %q; known: %s", c, strings.Join(known, ", "))
		}
	}
	if w.File != "" && (w.PerCategory != nil || len(w.Categories) > 0) {
		f.At(path("workload", "file"), "file excludes per_category and categories, which draw from the built-in prompts; use prompts to take a number of the file's")
	}
	if w.File == "" && w.Prompts != nil {
		f.At(path("workload", "prompts"), "prompts draws from a file; for the built-in prompts use per_category")
	}
	f.atLeast("per_category", w.PerCategory, 1)
	f.atLeast("prompts", w.Prompts, 1)
	f.atLeast("max_tokens", w.MaxTokens, 2) // one token has no time per output token
	f.atLeast("warmup", w.Warmup, 0)
	f.atLeast("trials", w.Trials, 1)
	if *w.StallTimeout <= 0 {
		f.At(path("workload", "stall_timeout"), "stall_timeout must be above zero")
	}
	if t := *w.Temperature; !(t >= 0 && t <= 5) {
		f.At(path("workload", "temperature"), "temperature is %g; give 0 to 5", t)
	}
}

func (f faults) atLeast(key string, value *int, least int) {
	if value != nil && *value < least {
		f.At(path("workload", key), "%s is %d; give %d or more", key, *value, least)
	}
}

func (f faults) arms(form file) {
	if len(form.Arms) < 2 {
		f.At(path("arms"), "%d arm(s); a comparison needs at least two", len(form.Arms))
	}
	seen := map[string]bool{}
	for i, a := range form.Arms {
		at := func(key string) []any { return path("arms", i, key) }
		if !armName.MatchString(a.Name) {
			f.At(at("name"), "name %q; give a letter or digit followed by up to 39 letters, digits, dots, dashes or underscores", a.Name)
		} else if seen[a.Name] {
			f.At(at("name"), "a second arm named %q", a.Name)
		}
		seen[a.Name] = true
		if !slices.Contains(Methods(), a.Method) {
			f.At(at("method"), "unknown method %q; known: %s", a.Method, strings.Join(Methods(), ", "))
		}
		if a.Server != "" && !slices.Contains(Kinds(), a.Server) {
			f.At(at("server"), "unknown server %q; known: %s", a.Server, strings.Join(Kinds(), ", "))
		}
		if *a.ReadyTimeout <= 0 {
			f.At(at("ready_timeout"), "ready_timeout must be above zero")
		}
		f.launch(a, at)
	}
	if len(form.Arms) > 0 && form.Baseline != "" && !seen[form.Baseline] {
		f.At(path("baseline"), "no arm is named %q", form.Baseline)
	}
}

// launch checks how an arm is started.
func (f faults) launch(a fileArm, at func(string) []any) {
	switch {
	case a.Treeline == nil && len(a.Command) == 0:
		f.At(at("name"), "arm %s has neither treeline (our own server) nor command (any server)", a.Name)
	case a.Treeline != nil && len(a.Command) > 0:
		f.At(at("command"), "arm %s has both treeline and command; remove one", a.Name)
	case a.Treeline != nil && a.Treeline.Model == "":
		f.At(at("treeline"), "model is missing")
	case a.Treeline != nil:
		for _, flag := range a.Treeline.Flags {
			if name, _, _ := strings.Cut(flag, "="); slices.Contains([]string{"--port", "--host", "--speculative-algorithm"}, name) {
				f.At(at("treeline"), "flag %s is set by the experiment (method and port of the arm); remove it", name)
			}
		}
	case a.Port == 0 && !namesPort(a):
		f.At(at("command"), "the command has no {port}, and the arm no port; write --port, \"{port}\" or give the port that the server listens on")
	}
	if a.Port < 0 || a.Port > 65535 {
		f.At(at("port"), "port is %d; give 1 to 65535, or leave it out for a free one", a.Port)
	}
}

// namesPort reports whether the command or its environment takes the port that the experiment chooses.
func namesPort(a fileArm) bool {
	words := append(slices.Collect(maps.Values(a.Env)), a.Command...)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "{port}") })
}
