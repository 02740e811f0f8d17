package tokenizer

import (
	"fmt"
	"slices"
	"strings"

	"treeline/internal/infer/gguf"
)

// tokenType is a value of tokenizer.ggml.token_type.
type tokenType int32

const (
	typeNormal      tokenType = 1
	typeUnknown     tokenType = 2
	typeControl     tokenType = 3
	typeUserDefined tokenType = 4
	typeUnused      tokenType = 5
	typeByte        tokenType = 6
)

// FromGGUF loads the tokenizer of a model file. The file may be closed afterwards.
func FromGGUF(f *gguf.File) (*Tokenizer, error) {
	t, err := fromGGUF(f)
	if err != nil {
		return nil, fmt.Errorf("load tokenizer: %w", err)
	}
	return t, nil
}

func fromGGUF(f *gguf.File) (*Tokenizer, error) {
	model, ok := f.String("tokenizer.ggml.model")
	if !ok {
		return nil, f.Fault("tokenizer.ggml.model", "a string")
	}
	if model != "gpt2" {
		return nil, fmt.Errorf("tokenizer model %q is not supported (gpt2, byte-level BPE, is)", model)
	}
	pre, ok := f.String("tokenizer.ggml.pre")
	if !ok {
		return nil, f.Fault("tokenizer.ggml.pre", "a string that names how text is split")
	}
	fam, err := familyOf(pre)
	if err != nil {
		return nil, err
	}
	tokens, err := f.Strings("tokenizer.ggml.tokens")
	if err != nil {
		return nil, err
	}
	types := make([]int32, len(tokens))
	for i := range types {
		types[i] = int32(typeNormal)
	}
	if f.Has("tokenizer.ggml.token_type") {
		if types, err = f.Int32s("tokenizer.ggml.token_type"); err != nil {
			return nil, err
		}
	}
	if len(types) != len(tokens) {
		return nil, fmt.Errorf("there are %d tokens and %d token types", len(tokens), len(types))
	}
	merges, err := f.Strings("tokenizer.ggml.merges")
	if err != nil {
		return nil, err
	}
	v, err := newVocabulary(fam, len(tokens), len(merges))
	if err != nil {
		return nil, err
	}
	for id, entry := range tokens {
		if err := v.add(int32(id), entry, tokenType(types[id])); err != nil {
			return nil, err
		}
	}
	for i, m := range merges {
		// A space is written as another character in the alphabet of bytes, so the first one separates.
		left, right, ok := strings.Cut(m, " ")
		if !ok {
			return nil, fmt.Errorf("merge %d (%q) is not two tokens with a space between", i, m)
		}
		if err := v.merge(i, left, right); err != nil {
			return nil, err
		}
	}
	return v.finish(), readEnds(f, v.t)
}

// readEnds reads the tokens that start and end texts.
func readEnds(f *gguf.File, t *Tokenizer) (err error) {
	if t.addBOS, err = f.BoolOr("tokenizer.ggml.add_bos_token", false); err != nil {
		return err
	}
	read := func(key string) int32 {
		n, e := f.UintOr(key, uint64(len(t.pieces)))
		switch {
		case e != nil:
			err = e
		case n < uint64(len(t.pieces)):
			return int32(n)
		case f.Has(key):
			err = fmt.Errorf("metadata key %s is %d, the tokens are 0 to %d", key, n, len(t.pieces)-1)
		}
		return -1
	}
	t.bos = read("tokenizer.ggml.bos_token_id")
	var ends []int32
	for _, key := range []string{"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"} {
		ends = append(ends, read(key))
	}
	t.setEOS(ends)
	if t.addBOS && t.bos < 0 && err == nil {
		err = fmt.Errorf("tokenizer.ggml.add_bos_token is true, but tokenizer.ggml.bos_token_id is missing")
	}
	return err
}

// endNames are control tokens that end a turn or a text wherever they exist. Files name one of them at most.
func endNames() []string {
	return []string{"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>", "<|end_of_text|>", "<|end|>", "<end_of_turn>"}
}

// setEOS keeps the ids that are not negative, and those of endNames.
func (t *Tokenizer) setEOS(ids []int32) {
	for _, name := range endNames() {
		if id, ok := t.ids[name]; ok && t.control[id] {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if id >= 0 && !slices.Contains(t.eos, id) {
			t.eos = append(t.eos, id)
		}
	}
}
