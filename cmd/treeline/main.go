// Command treeline measures LLM services and serves models on a CPU.
package main

import (
	"os"

	"treeline/internal/cli"
)

func main() {
	os.Exit(cli.Main(cli.OSEnv()))
}
