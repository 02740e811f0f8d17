package metric

import (
	"math"

	"treeline/internal/measure/record"
)

// Prompts gives what a start yielded for each prompt, in the order of their first request: medians over the trials of
// one level. It takes the level at concurrency 1, where decode speed is defined, else the first level measured.
func Prompts(requests []record.Request) []record.PromptValue {
	cold := coldOnes(requests)
	level, found := 0, false
	for _, r := range cold {
		if !found || r.Level == 1 {
			level, found = r.Level, true
		}
	}
	type trials struct {
		value                   record.PromptValue
		tpot, ttft, e2e, tokens []float64
	}
	var order []string
	by := map[string]*trials{}
	for _, r := range cold {
		if r.Level != level {
			continue
		}
		t := by[r.Prompt]
		if t == nil {
			t = &trials{value: record.PromptValue{Prompt: r.Prompt, Category: r.Category, Text: r.Reasoning + r.Text}}
			by[r.Prompt] = t
			order = append(order, r.Prompt)
		}
		v := NewView(r)
		t.tpot = append(t.tpot, tpot().Of(v)...)
		t.ttft = append(t.ttft, ttft().Of(v)...)
		t.e2e = append(t.e2e, e2e().Of(v)...)
		t.tokens = append(t.tokens, outputTokens().Of(v)...)
	}
	out := []record.PromptValue{}
	for _, id := range order {
		t := by[id]
		t.value.TPOTms, t.value.TTFTms, t.value.E2Ems = Median(t.tpot), Median(t.ttft), Median(t.e2e)
		t.value.Tokens = int(math.Round(Median(t.tokens)))
		out = append(out, t.value)
	}
	return out
}
