package tokenizer

import "fmt"

// Bounds on what a file may bring; the largest vocabularies have a few hundred thousand tokens. They keep a hostile
// file from taking much more memory than its own size, and looking for special tokens from taking long.
const (
	maxTokens     = 1 << 20
	maxMerges     = 1 << 20
	maxSpecialLen = 1 << 10
)

// vocabulary builds a Tokenizer.
type vocabulary struct {
	t       *Tokenizer
	letters alphabet
	entries map[string]int32 // as they are written in the file
}

// newVocabulary starts a vocabulary of so many tokens and merges.
func newVocabulary(fam family, size, merges int) (*vocabulary, error) {
	if size < 1 || size > maxTokens || merges > maxMerges {
		return nil, fmt.Errorf("the vocabulary has %d tokens and %d merges, want 1 to %d and at most %d", size, merges, maxTokens, maxMerges)
	}
	return &vocabulary{
		letters: newAlphabet(),
		entries: make(map[string]int32, size),
		t: &Tokenizer{
			pieces: make([]string, size), control: make([]bool, size), ids: make(map[string]int32, size),
			split: fam.split, nfc: fam.nfc, whole: fam.whole, merges: make(map[uint64]merge, merges), bos: -1,
		},
	}, nil
}

// add enters a token. Control and user-defined tokens are written as they are, others in the alphabet of bytes. Of
// entries that are written alike the first counts; the others can only be decoded.
func (v *vocabulary) add(id int32, entry string, typ tokenType) error {
	t := v.t
	if (typ == typeControl || typ == typeUnknown || typ == typeUserDefined) && len(entry) > maxSpecialLen {
		return fmt.Errorf("special token %d is %d bytes long, at most %d are supported", id, len(entry), maxSpecialLen)
	}
	piece := entry
	switch typ {
	case typeControl, typeUnknown:
		t.control[id] = true
		t.special.add(entry, id, true)
	case typeUserDefined:
		t.special.add(entry, id, false)
	default:
		if raw, ok := v.letters.raw(entry); ok {
			piece = raw
		}
	}
	t.pieces[id] = piece
	if _, ok := v.entries[entry]; !ok {
		v.entries[entry] = id
	}
	if _, ok := t.ids[piece]; !ok {
		t.ids[piece] = id
	}
	return nil
}

// merge enters the merge of rank i.
func (v *vocabulary) merge(i int, left, right string) error {
	l, okL := v.entries[left]
	r, okR := v.entries[right]
	id, ok := v.entries[left+right]
	if !okL || !okR || !ok {
		return fmt.Errorf("merge %d joins %q and %q: they or what they give are no tokens", i, left, right)
	}
	key := pair(l, r)
	if _, ok := v.t.merges[key]; !ok {
		v.t.merges[key] = merge{rank: int32(i), id: id}
	}
	return nil
}

// finish makes the tokenizer ready, with the tokens of single bytes.
func (v *vocabulary) finish() *Tokenizer {
	v.t.special.sort()
	for b, r := range byteAlphabet() {
		v.t.bytes[b] = -1
		if id, ok := v.entries[string(r)]; ok && !v.t.control[id] {
			v.t.bytes[b] = id
		}
	}
	return v.t
}
