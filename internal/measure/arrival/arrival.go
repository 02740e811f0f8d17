// Package arrival makes the schedules of open loops: the moments at which requests are to be sent, fixed before the
// first one is. A schedule is a pure function of its law and a seed. Sending is the load generator's business.
package arrival

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// Law says how requests arrive: as a renewal process, gaps between them independent and alike.
type Law struct {
	Rate float64 // requests a second in the long run, above 0
	// Burstiness is the shape k of Gamma distributed gaps, whose coefficient of variation is 1/sqrt(k): 1 is a Poisson
	// process, below 1 comes in bursts, above 1 is steadier. It is what vLLM's benchmark calls so. 0 means 1.
	Burstiness float64
	Constant   bool          // equal gaps instead
	Ramp       time.Duration // the rate grows linearly from 0 to Rate over this time
}

// The limits of a rate: one request in eleven days, and more than a client can send.
const (
	minRate = 1e-6
	maxRate = 1e6
)

// Check says what is wrong with a law.
func (l Law) Check() error {
	switch {
	case !(l.Rate >= minRate && l.Rate <= maxRate):
		return fmt.Errorf("rate is %g; give requests a second, from %g to %.0f", l.Rate, minRate, maxRate)
	case !(l.Burstiness >= 0) || l.Burstiness > 1e6 || (l.Burstiness > 0 && l.Burstiness < 1e-3):
		return fmt.Errorf("burstiness is %g; give the shape of the gaps, from 0.001: 1 is Poisson, below 1 comes in bursts", l.Burstiness)
	case l.Ramp < 0:
		return fmt.Errorf("ramp is %v; give a time of at least 0", l.Ramp)
	}
	return nil
}

// Schedule gives the send times from the start of the load, ascending: the first so many, those before the given time,
// or the fewer of the two; 0 is no limit, and one of them must be set. The first request comes at once.
//
// With a ramp the process runs on the clock of its own expectation, L(t) = Rate t^2 / (2 Ramp) up to Ramp and
// Rate (t - Ramp/2) after it: a moment u of the process at unit rate is sent at the t with L(t) = u.
func (l Law) Schedule(seed uint64, requests int, duration time.Duration) []time.Duration {
	if requests <= 0 && duration <= 0 {
		return nil
	}
	gap := l.gaps(seed)
	var out []time.Duration
	for u := 0.0; requests <= 0 || len(out) < requests; u += gap() {
		if l.Constant {
			u = float64(len(out)) // no sum of rounding errors
		}
		at := nanoseconds(l.when(u) * float64(time.Second))
		if duration > 0 && at >= duration {
			break
		}
		out = append(out, at)
	}
	return out
}

// gaps draws gaps with mean 1.
func (l Law) gaps(seed uint64) func() float64 {
	rng := rand.New(rand.NewPCG(seed, 0x7472656c696e65))
	switch k := l.Burstiness; {
	case l.Constant:
		return func() float64 { return 1 }
	case k == 0 || k == 1:
		return rng.ExpFloat64
	default:
		return distuv.Gamma{Alpha: k, Beta: k, Src: rng}.Rand
	}
}

// when is the moment, in seconds, at which u requests are expected.
func (l Law) when(u float64) float64 {
	ramp := l.Ramp.Seconds()
	if during := l.Rate * ramp / 2; u < during {
		return math.Sqrt(2 * u * ramp / l.Rate)
	}
	return u/l.Rate + ramp/2
}

// Expect is the number of requests to expect before the given time.
func (l Law) Expect(duration time.Duration) float64 {
	t, ramp := duration.Seconds(), l.Ramp.Seconds()
	if t < ramp {
		return l.Rate * t * t / (2 * ramp)
	}
	return l.Rate * (t - ramp/2)
}

// Scale gives recorded moments as a schedule: from their first one on, played so many times as fast.
func Scale(moments []time.Duration, speed float64) []time.Duration {
	var out []time.Duration
	for _, m := range moments {
		out = append(out, nanoseconds(float64(m-moments[0])/speed))
	}
	return out
}

// nanoseconds is a time of at most 290 years: what comes later overflows a Duration.
func nanoseconds(ns float64) time.Duration {
	return time.Duration(min(ns, 9.2e18))
}
