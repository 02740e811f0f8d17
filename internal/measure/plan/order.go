package plan

import (
	"math/rand/v2"
	"slices"
)

// Order lays out which arm starts when: one row of arm names for each block. Two arms follow ABBA (AB, BA, BA, AB,
// ...), which cancels a linear drift over every pair of blocks. More arms follow Latin squares in which, over each
// run of len(arms) blocks, every arm stands once in every position and neighbours change (Williams' sequence; with an
// odd number of arms every second run is mirrored). Blocks left over at the end have random orders. The result
// depends on the arguments alone.
func Order(arms []string, blocks int, seed uint64) [][]string {
	if len(arms) == 2 {
		return abba(arms, blocks)
	}
	rng := rand.New(rand.NewPCG(seed, 0x6f72_6465_72)) // the second word keeps our stream apart from the draw of prompts
	labels := slices.Clone(arms)
	rng.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
	var order [][]string
	for run := 0; len(order)+len(arms) <= blocks; run++ {
		order = append(order, square(labels, run%2 == 1 && len(arms)%2 == 1, rng)...)
	}
	for len(order) < blocks {
		row := slices.Clone(labels)
		rng.Shuffle(len(row), func(i, j int) { row[i], row[j] = row[j], row[i] })
		order = append(order, row)
	}
	return order
}

func abba(arms []string, blocks int) [][]string {
	order := make([][]string, blocks)
	for b := range order {
		order[b] = slices.Clone(arms)
		if b%4 == 1 || b%4 == 2 {
			slices.Reverse(order[b])
		}
	}
	return order
}

// square makes one run: rows i = sequence + i modulo k, in random order. Williams' sequence 0, 1, k-1, 2, k-2, ...
// has every difference between neighbours once when k is even.
func square(labels []string, mirrored bool, rng *rand.Rand) [][]string {
	k := len(labels)
	rows := make([][]string, k)
	for i := range rows {
		low, high := 0, k-1
		for at := range k {
			step := low
			if at%2 == 0 && at > 0 {
				step = high
				high--
			} else {
				low++
			}
			rows[i] = append(rows[i], labels[(step+i)%k])
		}
		if mirrored {
			slices.Reverse(rows[i])
		}
	}
	rng.Shuffle(k, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}
