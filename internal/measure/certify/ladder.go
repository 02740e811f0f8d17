package certify

import "context"

// Step is one rate of a ladder and what came of it.
type Step struct {
	Result Result
	OK     bool
}

// Highest finds the highest event rate at which the client is certified: it climbs the rates from the lowest until one
// fails, then halves the distance (on a logarithmic scale) between the last good and the first bad one. Each rate has
// two tries, because one disturbance from elsewhere is not the client's failing. measure makes one test. It returns
// every test made, and 0 when not even the lowest rate holds.
func Highest(ctx context.Context, rates []float64, halvings int, measure func(context.Context, float64) (Result, error), told func(Step)) (float64, error) {
	good, bad := 0.0, 0.0
	try := func(rate float64) (bool, error) {
		for range 2 {
			r, err := measure(ctx, rate)
			if err != nil {
				return false, err
			}
			told(Step{r, r.Certified()})
			if r.Certified() {
				return true, nil
			}
		}
		return false, ctx.Err()
	}
	for _, rate := range rates {
		ok, err := try(rate)
		if err != nil {
			return good, err
		}
		if !ok {
			bad = rate
			break
		}
		good = rate
	}
	for range halvings {
		if good == 0 || bad == 0 {
			break
		}
		middle := between(good, bad)
		ok, err := try(middle)
		if err != nil {
			return good, err
		}
		if ok {
			good = middle
		} else {
			bad = middle
		}
	}
	return good, nil
}
