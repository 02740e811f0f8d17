package simserver

// Truth is what was really sent for one request. Stamps are nanoseconds since the server was made; -1 never happened.
type Truth struct {
	ID        int   `json:"id"`    // in the order in which requests came
	Read      int64 `json:"read"`  // the request was read to its end
	First     int64 `json:"first"` // directly before the first event with tokens was written
	Last      int64 `json:"last"`  // directly before the last one
	NFirst    int   `json:"n_first"`
	Tokens    int   `json:"tokens"`
	Reasoning int   `json:"reasoning,omitempty"`
	Events    int   `json:"events"` // writes with tokens
}

// most is how many requests' truth is kept.
const most = 200_000

// Truth gives what was sent for the finished requests, the first 200,000 of them.
func (s *Server) Truth() []Truth {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Truth{}, s.truth...)
}

// sent notes a write with tokens.
func (j *job) sent(at int64, tokens int) {
	if j.truth.First < 0 {
		j.truth.First, j.truth.NFirst = at, tokens
	}
	j.truth.Last = at
	j.truth.Events++
}

// counters are the running sums behind /metrics.
type counters struct {
	running, waiting                  int
	requests, prompt, hits, generated int
	drafts, drafted, accepted         int
	perPos                            []int
}

func (s *Server) queued(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count.waiting += n
}

func (s *Server) started(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count.running++
	s.count.prompt += j.inputs
	s.count.hits += j.cached
}

// emitted counts tokens as they are sent.
func (s *Server) emitted(tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count.generated += tokens
}

// finished counts a request that ended, however it did, once.
func (s *Server) finished(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j.over {
		return
	}
	j.over = true
	s.count.running--
	s.count.requests++
	if d := s.spec.Spec; d != nil && !d.Silent {
		s.count.drafts += j.answer.rounds
		s.count.drafted += j.answer.drafted
		s.count.accepted += j.answer.accepted
		for i, n := range j.answer.perPos {
			s.count.perPos[i] += n
		}
	}
	if len(s.truth) < most {
		s.truth = append(s.truth, j.truth)
	}
}
