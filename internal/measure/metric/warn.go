package metric

import (
	"fmt"
	"strings"

	"treeline/internal/measure/record"
)

// cacheBlock is the prefix that requests share without being repeats: the chat template's own text. Servers cache in
// blocks of 16 to 64 tokens.
const cacheBlock = 64

// Warnings are the doubts that the requests themselves raise.
func Warnings(requests []record.Request) []record.Warning {
	var out []record.Warning
	total, noUsage, noSize, buffered, cached, whole, failed, capped := 0, 0, 0, 0, 0, 0, 0, 0
	for i := range requests {
		r := &requests[i]
		if r.Warmup {
			continue
		}
		total++
		if r.Capped {
			capped++
		}
		if !r.OK {
			if !r.Censored {
				failed++
			}
			continue
		}
		n, known := r.OutputTokens()
		if !known {
			noUsage++
		}
		if _, sized := FirstTokens(r); known && !sized && r.First >= 0 && n > 1 {
			noSize++
		}
		if Buffered(r) {
			buffered++
		}
		if warm(r) {
			cached++
		}
		if r.First < 0 && r.Text != "" {
			whole++
		}
	}
	add := func(n int, code, what string) {
		if n > 0 {
			out = append(out, record.Warning{Code: code, Text: fmt.Sprintf("%d of %d requests %s", n, total, what)})
		}
	}
	add(failed, record.WarnRequestsFailed, "failed; figures are those of the others, which may be the easier ones."+record.QuotesFollow+Errors(requests))
	add(noUsage, record.WarnUsageMissing, "came without a token count; they are left out of every token metric")
	add(noSize, record.WarnFirstEventSize, "did not tell how many tokens their first event held; their TPOT is too small if it was more than one an event")
	add(buffered, record.WarnBuffered, "arrived in lumps: something between model and client held the stream back; their TTFT, TPOT and ICL are left out")
	add(cached, record.WarnCacheHit, "took prompt tokens from a cache beyond the shared beginning; their TTFT is not that of a new prompt, and they are left out where others are cold")
	add(capped, record.WarnCapped, "waited for others to end before they were sent: this load was capped by --max-in-flight")
	add(whole, record.WarnNotStreamed, "were answered in one piece although a stream was asked for; they have no TTFT, TPOT or ICL")
	return out
}

// warm reports whether the server had seen this prompt before, and was not meant to.
func warm(r *record.Request) bool {
	if r.Shares {
		return false
	}
	cached, ok := r.CachedTokens()
	if !ok || r.Usage == nil || cached == 0 {
		return false
	}
	return cached > cacheBlock || (r.Usage.PromptTokens > 8 && cached >= r.Usage.PromptTokens-1)
}

// Errors tells the first error of each class in words.
func Errors(requests []record.Request) string {
	seen := map[string]bool{}
	var out []string
	for _, r := range requests {
		if !r.Warmup && !r.OK && !r.Censored && !seen[r.ErrorClass] {
			seen[r.ErrorClass] = true
			out = append(out, r.ErrorClass+": "+r.Error)
		}
	}
	return strings.Join(out, "; ")
}
