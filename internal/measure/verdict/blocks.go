package verdict

import (
	"math"
	"slices"

	"treeline/internal/measure/record"
)

// inBlocks lines up the starts by block. Each block is the list of starts of one side, nearly always one. incomplete
// counts starts whose block lacks the other side. A start without a block leaves no blocks at all.
func inBlocks(base, other []record.Start) (a, b [][]record.Start, incomplete int) {
	sides := [2]map[int][]record.Start{{}, {}}
	var numbers []int
	for side, starts := range [][]record.Start{base, other} {
		for _, s := range starts {
			if s.Block <= 0 {
				return nil, nil, 0
			}
			sides[side][s.Block] = append(sides[side][s.Block], s)
			if !slices.Contains(numbers, s.Block) {
				numbers = append(numbers, s.Block)
			}
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		if len(sides[0][n]) == 0 || len(sides[1][n]) == 0 {
			incomplete += len(sides[0][n]) + len(sides[1][n])
			continue
		}
		a, b = append(a, sides[0][n]), append(b, sides[1][n])
	}
	return a, b, incomplete
}

func single(starts []record.Start) [][]record.Start {
	out := make([][]record.Start, len(starts))
	for i, s := range starts {
		out[i] = []record.Start{s}
	}
	return out
}

// alternates reports whether neither arm ran entirely before the other; a block number alone does not say so.
func alternates(a, b [][]record.Start) bool {
	lastA, firstA := orderSpan(a)
	lastB, firstB := orderSpan(b)
	return len(a) == 1 || firstA < lastB && firstB < lastA
}

func orderSpan(blocks [][]record.Start) (last, first int) {
	first = math.MaxInt
	for _, block := range blocks {
		for _, s := range block {
			last, first = max(last, s.Order), min(first, s.Order)
		}
	}
	return last, first
}

// oneOrder reports whether in three or more blocks the same arm always went first, which leaves a drift in the ratio.
func oneOrder(a, b [][]record.Start) bool {
	aFirst := 0
	for i := range a {
		if a[i][0].Order < b[i][0].Order {
			aFirst++
		}
	}
	return len(a) >= minStarts && (aFirst == 0 || aFirst == len(a))
}
