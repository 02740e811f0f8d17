package lossless

import (
	"math"
	"sort"

	"treeline/internal/measure/record"
)

// outputs lines up the texts: one row per start, one column per prompt that has a text in every start.
func outputs(baseline, arm []record.Start) (prompts []string, a, b [][]string) {
	count := map[string]int{}
	var order []string
	starts := len(baseline) + len(arm)
	tables := make([]map[string]string, 0, starts)
	for _, group := range [][]record.Start{baseline, arm} {
		for _, s := range group {
			table := map[string]string{}
			for _, v := range s.Prompts {
				if _, twice := table[v.Prompt]; twice || v.Text == "" {
					continue // no text: it failed, was left out, or is empty, and none of these can be compared
				}
				table[v.Prompt] = v.Text
				if count[v.Prompt] == 0 {
					order = append(order, v.Prompt)
				}
				count[v.Prompt]++
			}
			tables = append(tables, table)
		}
	}
	if len(baseline) == 0 || len(arm) == 0 {
		return nil, nil, nil
	}
	for _, p := range order {
		if count[p] == starts {
			prompts = append(prompts, p)
		}
	}
	rows := make([][]string, starts)
	for i, table := range tables {
		for _, p := range prompts {
			rows[i] = append(rows[i], table[p])
		}
	}
	return prompts, rows[:len(baseline)], rows[len(baseline):]
}

func column(rows [][]string, p int) []string {
	texts := make([]string, len(rows))
	for i := range rows {
		texts[i] = rows[i][p]
	}
	return texts
}

// divergence is the share of pairs of one text of each side that differ, with the position of each first difference.
func divergence(a, b []string) (share float64, positions []int) {
	for _, x := range a {
		for _, y := range b {
			if at, differs := FirstDifference(x, y); differs {
				positions = append(positions, at)
			}
		}
	}
	return float64(len(positions)) / float64(len(a)*len(b)), positions
}

// divergenceWithin is the share of pairs of different starts of one side that differ; 0 when there is no pair.
func divergenceWithin(texts []string) (share float64, pairs int) {
	differ := 0
	for i := range texts {
		for j := range i {
			pairs++
			if texts[i] != texts[j] {
				differ++
			}
		}
	}
	if pairs == 0 {
		return 0, 0
	}
	return float64(differ) / float64(pairs), pairs
}

// FirstDifference is the position, in characters from 0, at which two texts part; a text that ends earlier parts there.
func FirstDifference(x, y string) (at int, differs bool) {
	if x == y {
		return 0, false
	}
	a, b := []rune(x), []rune(y)
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return at, true
}

// expected is the sum of shares, rounded, and at least 1 when any is above 0.
func expected(shares []float64) int {
	sum := 0.0
	for _, s := range shares {
		sum += s
	}
	if sum > 0 {
		return int(math.Max(1, math.Round(sum)))
	}
	return 0
}

func mostDivergent(prompts []string, shares []float64) []string {
	var order []int
	for i, s := range shares {
		if s > 0.5 {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return shares[order[i]] > shares[order[j]] })
	var on []string
	for _, i := range order {
		on = append(on, prompts[i])
	}
	return on
}

func firstAndMedian(positions []int) (first, median *int) {
	if len(positions) == 0 {
		return nil, nil
	}
	sort.Ints(positions)
	return &positions[0], &positions[len(positions)/2]
}
