// Package tokenizer turns text into a model's tokens and back: byte-level BPE as GPT-2, Llama 3, Qwen and SmolLM use
// it, from the metadata of a GGUF file or from a tokenizer.json.
//
// Ids are the same as those of the tokenizer that the model was trained with; where a file asks for something that
// this package does not do exactly, loading fails and names it. The package knows nothing of chat templates (package
// chat), models or sampling.
package tokenizer

import "unicode/utf8"

// Tokenizer is a loaded vocabulary. It is safe for concurrent use.
type Tokenizer struct {
	pieces  []string // raw bytes of every token, by id
	control []bool   // tokens that are no text: <|im_end|> and the like
	ids     map[string]int32

	split   splitter
	nfc     bool // text is normalised first
	whole   bool // a word that is a token as it stands is not put through the merges
	bytes   [256]int32
	merges  map[uint64]merge
	words   cache
	special specials // tokens that are found in text before it is split

	bos    int32 // -1: none
	addBOS bool
	eos    []int32
}

// Encode turns text into token ids. With parseSpecial, the text of control tokens such as <|im_start|> becomes these
// tokens; without, it is ordinary text, as what a user wrote should be. Bytes that the vocabulary cannot express are
// left out, as the reference tokenizers do; that concerns invalid UTF-8 and a few control characters.
// Time is O(n log n) in the length of the text, whatever it contains.
func (t *Tokenizer) Encode(text string, parseSpecial bool) []int32 {
	var ids []int32
	for len(text) > 0 {
		at, n, id := t.special.find(text, parseSpecial)
		ids = t.encodePlain(ids, text[:at])
		if n > 0 {
			ids = append(ids, id)
		}
		text = text[at+n:]
	}
	return ids
}

func (t *Tokenizer) encodePlain(ids []int32, text string) []int32 {
	if t.nfc {
		text = nfc(text)
	}
	for len(text) > 0 {
		n := t.split(text)
		ids = t.encodeWord(ids, text[:n])
		text = text[n:]
	}
	return ids
}

// Prompt encodes the text of a plain completion: what Encode gives with special tokens, after the token that starts a
// text if the model was trained with one.
func (t *Tokenizer) Prompt(text string) []int32 {
	ids := t.Encode(text, true)
	if t.addBOS && t.bos >= 0 && (len(ids) == 0 || ids[0] != t.bos) {
		ids = append([]int32{t.bos}, ids...)
	}
	return ids
}

// Decode turns ids into text. Bytes that are no UTF-8 become U+FFFD, one for each maximal part of a character. With
// skipSpecial, control tokens give no text. Ids outside of the vocabulary give none either.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	var b []byte
	for _, id := range ids {
		b = append(b, t.Piece(id, skipSpecial)...)
	}
	if utf8.Valid(b) {
		return string(b)
	}
	var out []byte
	for len(b) > 0 {
		out, b = appendRune(out, b)
	}
	return string(out)
}

// Piece is the bytes of one token, which need not be whole characters; empty for control tokens when skipSpecial.
func (t *Tokenizer) Piece(id int32, skipSpecial bool) string {
	if id < 0 || int(id) >= len(t.pieces) || skipSpecial && t.control[id] {
		return ""
	}
	return t.pieces[id]
}

// Vocab is the number of token ids, 0 to Vocab()-1.
func (t *Tokenizer) Vocab() int { return len(t.pieces) }

// ID finds the token whose bytes are text.
func (t *Tokenizer) ID(text string) (int32, bool) {
	id, ok := t.ids[text]
	return id, ok
}

// Control tells whether a token is no text but a mark such as <|im_end|>.
func (t *Tokenizer) Control(id int32) bool {
	return id >= 0 && int(id) < len(t.control) && t.control[id]
}

// EOS lists the tokens that end an answer: the end of text, and the end of a turn where the vocabulary has one.
func (t *Tokenizer) EOS() []int32 { return append([]int32(nil), t.eos...) }

// BOS is the token that starts a text; ok is false when the vocabulary has none.
func (t *Tokenizer) BOS() (id int32, ok bool) { return t.bos, t.bos >= 0 }

// AddBOS tells whether the model wants the token that starts a text before every prompt. Chat templates write it
// themselves.
func (t *Tokenizer) AddBOS() bool { return t.addBOS }
