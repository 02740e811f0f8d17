package launch

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// ExitError is a child that ended when it should have run.
type ExitError struct {
	Command string
	State   string   // "exit status 1", "signal: killed"
	Log     string   // path
	Lines   []string // the lines of the log that tell most
}

func (e *ExitError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the server ended by itself (%s): %s", e.State, e.Command)
	if len(e.Lines) == 0 {
		b.WriteString("\n  it wrote nothing")
	}
	for _, line := range e.Lines {
		b.WriteString("\n  | " + line)
	}
	b.WriteString("\n  whole log: " + e.Log)
	return b.String()
}

const (
	logTail     = 64 << 10 // bytes of the log that are looked at, from its end
	logLines    = 6        // lines that are shown at most
	logLineSize = 240      // bytes of a line that are shown
)

// tellsMore matches lines that name a cause.
var tellsMore = regexp.MustCompile(`(?i)\b(error|fatal|panic|exception|cannot|can't|failed|failure|denied|not found|no such|already in use|out of memory|unknown|invalid|unsupported|killed|treeline:)`)

// tellingLines picks from the end of a log the last lines that name a cause, and the last line in any case.
func tellingLines(path string) []string {
	lines := tail(path)
	var picked []string
	for i := len(lines) - 1; i >= 0 && len(picked) < logLines; i-- {
		if i == len(lines)-1 || tellsMore.MatchString(lines[i]) {
			picked = append([]string{lines[i]}, picked...)
		}
	}
	return picked
}

// tail returns the non-empty lines at the end of a file; none when it can't be read.
func tail(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil
	}
	b, err := io.ReadAll(io.NewSectionReader(f, max(0, size-logTail), logTail))
	if err != nil {
		return nil
	}
	var lines []string
	for line := range strings.Lines(string(b)) {
		// A progress bar overwrites itself with carriage returns; its last state is what a person saw.
		line = strings.TrimRight(line, "\r\n \t")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		if line = strings.ToValidUTF8(line, "?"); strings.TrimSpace(line) == "" {
			continue
		}
		if len(line) > logLineSize {
			line = strings.ToValidUTF8(line[:logLineSize], "") + "..."
		}
		lines = append(lines, line)
	}
	return lines
}
