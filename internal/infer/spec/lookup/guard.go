package lookup

// guess is one token of a chain: it followed a match of the given length (the n-gram found, plus the guesses before).
type guess struct {
	token int32
	match int
}

// classes is how many match lengths are told apart; longer ones count as the longest.
const classes = 6

// prior[n-1] is how often the token after the most recent match of length n was right, counted on texts of a small
// chat model; the longest class is 0.89. Each weighs as much as priorWeight observations of the request itself.
var prior = [classes]float64{0.19, 0.49, 0.54, 0.69, 0.73, 0.89}

const priorWeight = 4

// guard estimates P(guess is right | match length, all guesses before it right) by counting, with a prior.
type guard struct{ tries, hits [classes]float64 }

func newGuard() guard {
	var g guard
	for i, p := range prior {
		g.tries[i], g.hits[i] = priorWeight, priorWeight*p
	}
	return g
}

func class(match int) int { return min(match, classes) - 1 }

func (g *guard) prob(match int) float64 { return g.hits[class(match)] / g.tries[class(match)] }

// learn compares a chain with what came. A guess counts only when all before it were right: the others were never tried.
func (g *guard) learn(chain []guess, came []int32) {
	for i, c := range chain {
		if i >= len(came) {
			return
		}
		g.tries[class(c.match)]++
		if c.token != came[i] {
			return
		}
		g.hits[class(c.match)]++
	}
}
