package workload

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed prompts/*.txt
var promptFiles embed.FS

// BuiltIn returns the built-in prompts, 16 of each category, grouped by category. The slice is the caller's own.
//
// The files under prompts/ are made for reading: a line "=== id" starts a prompt, everything up to the next such line
// is its text, without blank lines at either end.
func BuiltIn() []Prompt {
	var all []Prompt
	for _, category := range Categories() {
		name := "prompts/" + category + ".txt"
		data, err := promptFiles.ReadFile(name)
		if err != nil {
			panic(fmt.Sprintf("workload: the built-in file %s is missing: %v", name, err)) // a broken build
		}
		all = append(all, parsePrompts(category, string(data))...)
	}
	return all
}

func parsePrompts(category, data string) []Prompt {
	var prompts []Prompt
	for part := range strings.SplitSeq("\n"+data, "\n=== ") {
		id, text, found := strings.Cut(part, "\n")
		if !found || id == "" {
			continue // before the first prompt
		}
		prompts = append(prompts, Prompt{ID: strings.TrimSpace(id), Category: category, Text: strings.TrimSpace(text)})
	}
	return prompts
}
