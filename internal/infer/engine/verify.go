package engine

import (
	"errors"
	"time"
)

// prefilledMore commits a chunk of a prompt; after the last chunk it draws the first token, by the same sampler as
// every other.
func (e *Engine) prefilledMore(r *request) {
	e.path = e.path[:0]
	for i := range r.rows {
		e.path = append(e.path, r.base+i)
	}
	e.runner.Commit(r.slot, e.path)
	if r.prefilled += r.rows; r.prefilled < len(r.Prompt) {
		return
	}
	e.mu.Lock()
	e.count.PromptTokens += int64(len(r.Prompt))
	e.mu.Unlock()
	e.walk(r, r.base+r.rows-1, false)
}

// verify is the one way of decoding: from the root follow the draft for as long as it holds the token that the model
// chooses, and emit the chosen tokens. Only then are the nodes of the path committed; nothing else of a draft remains.
func (e *Engine) verify(r *request) { e.walk(r, r.base, true) }

// walk draws the token after the given row of the batch, and after the draft node that equals it, and so on. Tokens
// are drawn as the walk goes, so penalties, bans and stop strings see exactly the path that is kept.
func (e *Engine) walk(r *request, row int, decode bool) {
	r.fresh = len(r.tokens)
	e.path = e.path[:0]
	text := ""
	for node := -1; ; {
		if decode {
			e.path = append(e.path, row)
		}
		token := e.sampler.Token(e.runner.Logits(row), &r.Sample, e.point(r))
		if token < 0 {
			e.fail(r, errors.New("the model gave no usable logits"))
			return
		}
		text += e.take(r, token)
		if r.finish != "" || !decode {
			break
		}
		if node = r.tree.Child(node, token); node < 0 {
			break
		}
		row = r.base + 1 + node
	}
	e.tally(r, decode)
	if r.finish == "" {
		if decode {
			e.runner.Commit(r.slot, e.path)
		}
		if r.draft != nil {
			r.draft.Append(r.tokens[r.fresh:])
		}
	}
	e.emit(r, text)
}

// tally counts a round of one request. In decode, tokens emitted = 1 + accepted: the last token is the pass's own,
// also when the draft held it.
func (e *Engine) tally(r *request, decode bool) {
	emitted := int64(len(r.tokens) - r.fresh)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count.GenerationTokens += emitted
	if !decode {
		return
	}
	e.count.DecodePasses++
	if n := r.tree.Len(); n > 0 {
		e.count.Drafts++
		e.count.DraftTokens += int64(n)
		e.count.Accepted += emitted - 1
		r.timings.VerifyN++
		r.timings.DraftN += n
		r.timings.DraftNAccepted += int(emitted - 1)
	}
}

// emit stamps the round and hands it out. On the last one everything else is settled before.
func (e *Engine) emit(r *request, text string) {
	now := time.Now()
	if o := e.opt.Observe; o != nil {
		if r.first.IsZero() {
			o.FirstToken(now.Sub(r.submitted))
		} else {
			o.Round(now.Sub(r.last), len(r.tokens)-r.fresh)
		}
		if r.finish != "" {
			o.Finished(now.Sub(r.submitted))
		}
	}
	if r.first.IsZero() {
		r.first = now
	}
	r.last = now
	ev := Event{Choice: r.choice, Tokens: append([]int32(nil), r.tokens[r.fresh:]...), Text: text, Total: r.generated()}
	if r.finish != "" {
		ev.Result = e.release(r, 0)
	}
	r.answer.put(ev)
}
