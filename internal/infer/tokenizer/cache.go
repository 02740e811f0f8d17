package tokenizer

import (
	"strings"
	"sync"
)

// Bounds of the cache of words: about 3 MB at most.
const (
	cacheWords   = 1 << 14
	cacheWordLen = 32
)

// cache remembers the tokens of words, which repeat. It starts anew when full; what it forgets is only time.
type cache struct {
	mu    sync.RWMutex
	words map[string][]int32
}

func (c *cache) get(word string) ([]int32, bool) {
	if len(word) > cacheWordLen {
		return nil, false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	ids, ok := c.words[word]
	return ids, ok
}

func (c *cache) put(word string, ids []int32) {
	if len(word) > cacheWordLen {
		return
	}
	word = strings.Clone(word) // it is part of a text that need not be kept
	ids = append([]int32(nil), ids...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.words == nil || len(c.words) >= cacheWords {
		c.words = make(map[string][]int32)
	}
	c.words[word] = ids
}
