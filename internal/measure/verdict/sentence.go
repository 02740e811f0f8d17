package verdict

import (
	"fmt"
	"math"
	"strings"
)

// sentence says the verdict in one plain sentence that can be quoted without the rest.
func sentence(base, other arm, c Comparison, g gates) string {
	a, b := labels(base, other, g)
	switch c.Verdict {
	case Invalid:
		return fmt.Sprintf("No verdict on %s against %s: %s.", b, a, strings.Join(g.fatal, "; "))
	case Undecided:
		return undecidedSentence(a, b, c)
	}
	speed := fmt.Sprintf("%s decode speed (95 %% interval %s to %s, %s)", Times(*c.Ratio), Times(*c.Lo), Times(*c.Hi), design(c))
	adverb := ""
	if c.Confidence != Certain {
		adverb = "probably "
	}
	switch c.Verdict {
	case Faster, Slower:
		return fmt.Sprintf("%s is %s%s than %s: %s.", b, adverb, c.Verdict, a, speed)
	case FasterNegligibly, SlowerNegligibly:
		direction, _, _ := strings.Cut(string(c.Verdict), "-")
		return fmt.Sprintf("%s is %s%s than %s, but by less than %s: %s.", b, adverb, direction, a, percent(c.Margin), speed)
	}
	return fmt.Sprintf("%s and %s are %sequally fast to within %s: %s.", b, a, adverb, percent(c.Margin), speed)
}

func undecidedSentence(a, b string, c Comparison) string {
	switch {
	case c.Ratio == nil:
		return fmt.Sprintf("Undecided: %s and %s have no measured speed in common.", b, a)
	case c.Lo == nil && c.WithinLo != nil:
		return fmt.Sprintf("Undecided: %s ran at %s the decode speed of %s (%s to %s over the prompts of these starts), but %s can't tell the change from the luck of a start.",
			b, Times(*c.Ratio), a, Times(*c.WithinLo), Times(*c.WithinHi), starts(c))
	case c.Lo == nil:
		return fmt.Sprintf("Undecided: %s ran at %s the decode speed of %s, but %s can't tell the change from the luck of a start.", b, Times(*c.Ratio), a, starts(c))
	}
	text := fmt.Sprintf("Undecided: %s ran at %s the decode speed of %s (95 %% interval %s to %s, %s)", b, Times(*c.Ratio), a, Times(*c.Lo), Times(*c.Hi), design(c))
	if c.MDE != nil {
		text += fmt.Sprintf("; a difference of %s would have been seen in four of five such experiments", percent(*c.MDE-1))
	}
	if c.BlocksNeeded != nil {
		text += fmt.Sprintf(", and about %d more block(s) would settle a difference of the size seen", *c.BlocksNeeded)
	}
	return text + "."
}

// labels names the arms. Where no method could be shown, addresses are compared and a name that claims a method would
// claim too much.
func labels(base, other arm, g gates) (a, b string) {
	a, b = base.name, other.name
	if !g.unnamed {
		return a, b
	}
	urlA, urlB := base.starts[0].URL, other.starts[0].URL
	if urlA != "" && urlB != "" && urlA != urlB {
		return "the server at " + urlA, "the server at " + urlB
	}
	return fmt.Sprintf("the server measured as %q", a), fmt.Sprintf("the server measured as %q", b)
}

func design(c Comparison) string {
	if c.Interleaved {
		return fmt.Sprintf("%d blocks of fresh server starts", c.Blocks)
	}
	return starts(c)
}

func starts(c Comparison) string {
	return fmt.Sprintf("%d and %d server start(s)", c.Starts[0], c.Starts[1])
}

// Times writes a ratio as people say it: 1.69x, with a third decimal where two would hide the difference from 1.
func Times(ratio float64) string {
	if d := math.Abs(ratio - 1); d > 0 && d < 0.02 {
		return fmt.Sprintf("%.3fx", ratio)
	}
	return fmt.Sprintf("%.2fx", ratio)
}

func percent(x float64) string {
	if x < 0.1 {
		return fmt.Sprintf("%.1f %%", 100*x)
	}
	return fmt.Sprintf("%.0f %%", 100*x)
}
