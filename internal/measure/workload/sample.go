package workload

import "math/rand/v2"

// Sample draws n different prompts, evenly from all categories: the numbers drawn from two categories differ by at
// most one, unless a category is exhausted, whose share then goes to the others. The result depends on prompts, n and
// seed alone. It cycles through the categories, so that the beginning of the result is balanced too. With n at or
// above the number of prompts all are returned, in the order given; with n <= 0 none.
func Sample(prompts []Prompt, n int, seed uint64) []Prompt {
	if n <= 0 {
		return nil
	}
	if n >= len(prompts) {
		return append([]Prompt(nil), prompts...)
	}
	rng := rand.New(rand.NewPCG(seed, 0x7472_6565_6c69_6e65)) // the second word only keeps our streams apart from others
	piles := pileByCategory(prompts)
	rng.Shuffle(len(piles), func(i, j int) { piles[i], piles[j] = piles[j], piles[i] })
	for _, pile := range piles {
		rng.Shuffle(len(pile), func(i, j int) { pile[i], pile[j] = pile[j], pile[i] })
	}
	drawn := make([]Prompt, 0, n)
	for depth := 0; len(drawn) < n; depth++ {
		for _, pile := range piles {
			if depth < len(pile) && len(drawn) < n {
				drawn = append(drawn, pile[depth])
			}
		}
	}
	return drawn
}

// Without returns the prompts whose ID is not among taken, in the order given: what is left for warm-up, which must
// use other prompts than the measured ones.
func Without(prompts, taken []Prompt) []Prompt {
	used := make(map[string]bool, len(taken))
	for _, p := range taken {
		used[p.ID] = true
	}
	var rest []Prompt
	for _, p := range prompts {
		if !used[p.ID] {
			rest = append(rest, p)
		}
	}
	return rest
}

// pileByCategory groups prompts by category, categories in order of first appearance.
func pileByCategory(prompts []Prompt) [][]Prompt {
	index := map[string]int{}
	var piles [][]Prompt
	for _, p := range prompts {
		i, seen := index[p.Category]
		if !seen {
			i = len(piles)
			index[p.Category] = i
			piles = append(piles, nil)
		}
		piles[i] = append(piles[i], p)
	}
	return piles
}
