package loadgen

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"treeline/internal/measure/record"
)

// Job is one request to send. Request carries what identifies it (id, prompt, category, trial, level).
type Job struct {
	Request record.Request
	Body    []byte
}

// Plan is one level of load: a closed loop of Concurrency requests in flight, or an open loop that sends on a schedule.
type Plan struct {
	Concurrency int             // closed loop
	Ramp        time.Duration   // closed loop: its callers begin one after another over this time
	Schedule    []time.Duration // open loop when it has any: send times from the start (package arrival)
	MaxInFlight int             // open loop: more requests than this wait, and are late; 0 means no limit
	Requests    int             // closed loop: requests to send; 0 means until Duration has passed
	Duration    time.Duration   // no request is sent later than this; 0 means no limit
	Cut         bool            // end the requests that are in flight when Duration is over, instead of waiting for them
	Keep        Recorder        // gets every stream as it comes; nil keeps none
	// Job makes request number i, from 0. It is called in order, from one goroutine at a time; in an open loop ahead of
	// the request's moment, and perhaps for one that is never sent.
	Job func(i int) (Job, error)
}

// Recorder keeps streams: first the header, then the parts of the body. Its calls come from one goroutine.
type Recorder interface {
	Begin(id int, s *record.Stream) error
	Piece(id int, p record.Piece) error
}

// Run sends the plan's load and calls done for every request once it is over, from one goroutine, with the request
// filled in. Requests in flight when the time is up are finished, unless the plan cuts them: those are censored. Those
// that still wait for a free place then are never sent. When ctx ends no more are sent, those in flight are cancelled and
// reported as such, and Run returns ctx's error; an error of done, Keep or Job ends the run too. Streams are read by one
// goroutine each and parsed and kept by one for all, which holds no more than a few blocks of each.
func Run(ctx context.Context, c *Client, p Plan, done func(*record.Request, *record.Stream) error) error {
	if len(p.Schedule) == 0 && p.Requests <= 0 && p.Duration <= 0 {
		return fmt.Errorf("load without an end: give a number of requests or a duration")
	}
	first, err := p.prepare()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	finished := make(chan arrival, 256)
	window, closeWindow := context.WithCancelCause(ctx)
	defer closeWindow(nil)
	if p.Cut && p.Duration > 0 {
		defer time.AfterFunc(p.Duration, func() { closeWindow(errWindow) }).Stop()
	}
	var workers sync.WaitGroup
	if len(p.Schedule) > 0 {
		workers.Go(func() { p.open(window, c, first, &workers, finished, cancel) })
	} else {
		next := p.source(c)
		begin, over := context.WithCancel(window) // once a caller finds nothing left to send, no other begins
		defer over()
		n := max(p.Concurrency, 1)
		for i := range n {
			workers.Go(func() {
				if sleep(begin, time.Duration(float64(p.Ramp)*float64(i)/float64(n))) {
					closed(window, c, next, finished, cancel)
					over()
				}
			})
		}
	}
	go func() {
		workers.Wait()
		close(finished)
	}()
	var failed error
	for a := range finished {
		if err := a.take(p.Keep, done); err != nil && failed == nil {
			failed = err
			cancel(err)
		}
	}
	if failed != nil {
		return failed
	}
	return context.Cause(ctx)
}

// live is a request under way.
type live struct {
	request record.Request
	stream  *record.Stream // its header, and once it is over its end
	filler  *record.Filler
	lost    bool // something could not be kept: its line must not be written
}

// handOn never waits in the usual case. When parsing and keeping cannot follow, memory stays bounded and the reader
// waits: what arrives meanwhile gets its stamp too late, so the wait is kept.
func (c *Client) handOn(to chan<- arrival, a arrival) {
	select {
	case to <- a:
		return
	default:
	}
	began := c.Now()
	to <- a
	c.waits.Add(c.Now() - began)
}

// Waited is how long the readers of streams waited in all because what they had read could not be parsed and kept as
// fast as it came. Stamps taken right after a wait are late by as much.
func (c *Client) Waited() time.Duration { return time.Duration(c.waits.Load()) }

// arrival is a part of a live request's answer, or its end when it has no block.
type arrival struct {
	live  *live
	block *block
	end   *record.Stream
}

// sendOn makes one request and sends on what arrives.
func (c *Client) sendOn(ctx context.Context, job Job, to chan<- arrival) {
	l := &live{request: job.Request}
	s := c.do(ctx, job.Body, &l.request, func(s *record.Stream, b *block) {
		if l.stream == nil {
			l.stream = &record.Stream{Status: s.Status, Proto: s.Proto, ContentType: s.ContentType, Encoding: s.Encoding}
		}
		c.handOn(to, arrival{live: l, block: b})
	})
	to <- arrival{live: l, end: s}
}

// take parses and keeps a part of an answer; its end goes to done.
func (a arrival) take(keep Recorder, done func(*record.Request, *record.Stream) error) (err error) {
	l := a.live
	if l.filler == nil {
		if l.stream == nil { // no answer came
			l.stream = a.end
		}
		l.filler = record.NewFiller(&l.request, l.stream)
		if keep != nil {
			err = keep.Begin(l.request.ID, l.stream)
		}
	}
	if a.block != nil {
		if keep != nil && err == nil && !l.lost {
			err = keep.Piece(l.request.ID, a.block.Piece)
		}
		l.filler.Feed(a.block.Piece)
		a.block.free()
		l.lost = l.lost || err != nil
		return err
	}
	s := a.end
	l.stream.End, l.stream.EndAt, l.stream.Error, l.stream.Class = s.End, s.EndAt, s.Error, s.Class
	l.filler.End()
	if l.lost {
		return err
	}
	return errors.Join(err, done(&l.request, l.stream))
}

// source hands out jobs until the number or the time is used up.
func (p Plan) source(c *Client) func() (Job, bool, error) {
	var mu sync.Mutex
	i, start := 0, c.Now()
	return func() (Job, bool, error) {
		mu.Lock()
		defer mu.Unlock()
		if (p.Requests > 0 && i >= p.Requests) || (p.Duration > 0 && c.Now()-start >= int64(p.Duration)) {
			return Job{}, false, nil
		}
		job, err := p.Job(i)
		i++
		return job, err == nil, err
	}
}

// closed is one of the loop's callers: the next request follows the last byte of the one before.
func closed(ctx context.Context, c *Client, next func() (Job, bool, error), finished chan<- arrival, cancel context.CancelCauseFunc) {
	for ctx.Err() == nil {
		job, ok, err := next()
		if err != nil {
			cancel(err)
		}
		if !ok {
			return
		}
		c.sendOn(ctx, job, finished)
	}
}

// ahead is how many requests of an open loop are ready before their moments: making a long prompt takes milliseconds,
// and those of a burst would be late by all those before them.
const ahead = 64

// prepare makes the first requests of an open loop, before its clock starts.
func (p Plan) prepare() ([]Job, error) {
	var out []Job
	for i := range min(ahead, len(p.Schedule)) {
		job, err := p.Job(i)
		if err != nil {
			return nil, err
		}
		out = append(out, job)
	}
	return out, nil
}

// jobs hands on the first requests, and then makes the others.
func (p Plan) jobs(ctx context.Context, first []Job, to chan<- Job, cancel context.CancelCauseFunc) {
	defer close(to)
	for i := range p.Schedule {
		if p.Duration > 0 && p.Schedule[i] >= p.Duration {
			return
		}
		var job Job
		if i < len(first) {
			job = first[i]
		} else {
			var err error
			if job, err = p.Job(i); err != nil {
				cancel(err)
				return
			}
		}
		select {
		case to <- job:
		case <-ctx.Done():
			return
		}
	}
}

// open sends at the scheduled moments whatever the server does, each request in its own goroutine. Sched is the
// planned moment, Call the actual one: later by the wait for a free place, where their number is limited.
func (p Plan) open(ctx context.Context, c *Client, first []Job, workers *sync.WaitGroup, finished chan<- arrival, cancel context.CancelCauseFunc) {
	start := c.Now()
	var places chan struct{}
	if p.MaxInFlight > 0 {
		places = make(chan struct{}, p.MaxInFlight)
	}
	waiting := ctx
	if p.Duration > 0 {
		var stop context.CancelFunc
		waiting, stop = context.WithTimeout(ctx, p.Duration)
		defer stop()
	}
	making, enough := context.WithCancel(ctx)
	defer enough()
	jobs := make(chan Job, ahead)
	workers.Go(func() { p.jobs(making, first, jobs, cancel) })
	i := 0
	for job := range jobs {
		job.Request.Sched = max(start+int64(p.Schedule[i]), 1)
		i++
		if !sleep(ctx, time.Duration(job.Request.Sched-c.Now())) {
			return
		}
		if places != nil && !job.enter(waiting, places) {
			return
		}
		workers.Go(func() {
			c.sendOn(ctx, job, finished)
			if places != nil {
				<-places
			}
		})
	}
}

// enter waits for a free place, and notes that it had to. It reports false when none came before ctx ended.
func (j *Job) enter(ctx context.Context, places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
		j.Request.Capped = true
	}
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
