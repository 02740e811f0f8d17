package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// FromJSON loads the tokenizer.json of a Hugging Face folder. Which tokens start and end a text is not in that file:
// BOS is unknown, and EOS holds the control tokens that always end a turn.
func FromJSON(data []byte) (*Tokenizer, error) {
	t, err := fromJSON(data)
	if err != nil {
		return nil, fmt.Errorf("load tokenizer.json: %w", err)
	}
	return t, nil
}

type tokenizerJSON struct {
	AddedTokens []struct {
		ID                                  int32
		Content                             string
		SingleWord                          bool `json:"single_word"`
		LStrip, RStrip, Normalized, Special bool
	} `json:"added_tokens"`
	Normalizer   *component `json:"normalizer"`
	PreTokenizer *component `json:"pre_tokenizer"`
	Model        struct {
		Type         string
		Vocab        map[string]int32
		Merges       []mergeJSON
		IgnoreMerges bool `json:"ignore_merges"`
		ByteFallback bool `json:"byte_fallback"`
		Dropout      *float64
	}
}

// component is a normaliser or pre-tokenizer, any of those that are understood.
type component struct {
	Type             string
	PreTokenizers    []component `json:"pretokenizers"`
	Normalizers      []component
	Pattern          struct{ Regex string }
	Behavior         string
	Invert           bool
	AddPrefixSpace   bool  `json:"add_prefix_space"`
	UseRegex         *bool `json:"use_regex"`
	IndividualDigits bool  `json:"individual_digits"`
}

// mergeJSON is written as "a b" or as ["a", "b"].
type mergeJSON [2]string

func (m *mergeJSON) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err == nil {
		left, right, ok := strings.Cut(s, " ")
		if !ok {
			return fmt.Errorf("merge %q is not two tokens with a space between", s)
		}
		*m = mergeJSON{left, right}
		return nil
	}
	return json.Unmarshal(b, (*[2]string)(m))
}

func fromJSON(data []byte) (*Tokenizer, error) {
	var j tokenizerJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, err
	}
	switch {
	case j.Model.Type != "BPE":
		return nil, fmt.Errorf("model type %q is not supported (BPE is)", j.Model.Type)
	case j.Model.ByteFallback || j.Model.Dropout != nil:
		return nil, errors.New("byte_fallback and dropout are not supported")
	}
	fam, err := j.family()
	if err != nil {
		return nil, err
	}
	entries, types, err := j.tokens()
	if err != nil {
		return nil, err
	}
	v, err := newVocabulary(fam, len(entries), len(j.Model.Merges))
	if err != nil {
		return nil, err
	}
	for id, entry := range entries {
		if err := v.add(int32(id), entry, types[id]); err != nil {
			return nil, err
		}
	}
	for i, m := range j.Model.Merges {
		if err := v.merge(i, m[0], m[1]); err != nil {
			return nil, err
		}
	}
	t := v.finish()
	t.setEOS(nil)
	return t, nil
}

// tokens lists the vocabulary by id. Ids that are missing are unused tokens without text.
func (j *tokenizerJSON) tokens() (entries []string, types []tokenType, err error) {
	count := int32(0)
	for _, id := range j.Model.Vocab {
		count = max(count, id+1)
	}
	for _, a := range j.AddedTokens {
		count = max(count, a.ID+1)
	}
	if most := int32(len(j.Model.Vocab)+len(j.AddedTokens)) + 1<<16; count < 1 || count > most {
		return nil, nil, fmt.Errorf("the largest token id is %d, want 0 to %d", count-1, most-1)
	}
	entries, types = make([]string, count), make([]tokenType, count)
	for i := range types {
		types[i] = typeUnused
	}
	for entry, id := range j.Model.Vocab {
		if id < 0 {
			return nil, nil, fmt.Errorf("token %q has id %d", entry, id)
		}
		entries[id], types[id] = entry, typeNormal
	}
	for _, a := range j.AddedTokens {
		if a.ID < 0 {
			return nil, nil, fmt.Errorf("token %q has id %d", a.Content, a.ID)
		}
		if a.SingleWord || a.LStrip || a.RStrip {
			return nil, nil, fmt.Errorf("token %q: single_word, lstrip and rstrip are not supported", a.Content)
		}
		entries[a.ID], types[a.ID] = a.Content, typeUserDefined
		if a.Special {
			types[a.ID] = typeControl
		}
	}
	return entries, types, nil
}

// family recognises the ways to split that are implemented, by their exact expression.
func (j *tokenizerJSON) family() (family, error) {
	f := family{whole: j.Model.IgnoreMerges}
	if n := j.Normalizer; n != nil {
		if n.Type != "NFC" {
			return f, fmt.Errorf("normalizer %q is not supported (NFC is)", n.Type)
		}
		f.nfc = true
	}
	if j.PreTokenizer == nil {
		return f, errors.New("there is no pre_tokenizer")
	}
	steps := j.PreTokenizer.PreTokenizers
	if j.PreTokenizer.Type != "Sequence" {
		steps = []component{*j.PreTokenizer}
	}
	last := len(steps) - 1
	if last < 0 || last > 1 || steps[last].Type != "ByteLevel" || steps[last].AddPrefixSpace {
		return f, errors.New("the pre_tokenizer is not one splitting step and ByteLevel without a space before the text")
	}
	byteLevel := steps[last].UseRegex == nil || *steps[last].UseRegex
	switch first := steps[0]; {
	case last == 0 && byteLevel:
		f.split = gpt2{}.split
	case last == 1 && byteLevel && first.Type == "Digits" && first.IndividualDigits:
		f.split = gpt2{digits: true}.split
	case last == 1 && !byteLevel && first.Type == "Split" && first.Behavior == "Isolated" && !first.Invert:
		for _, p := range []pattern{{digits: 1}, {digits: 3}, {digits: 1, marks: true}} {
			if first.Pattern.Regex == p.regexp() {
				f.split = p.split
			}
		}
		if f.split == nil {
			return f, fmt.Errorf("splitting by %q is not supported", first.Pattern.Regex)
		}
	default:
		return f, fmt.Errorf("splitting by %q is not supported", first.Type)
	}
	return f, nil
}

// regexp is the expression that the pattern implements.
func (p pattern) regexp() string {
	number, word, mark := `\p{N}`, `\p{L}`, ""
	if p.digits > 1 {
		number = fmt.Sprintf(`\p{N}{1,%d}`, p.digits)
	}
	if p.marks {
		word, mark = `[\p{L}\p{M}]`, `\p{M}`
	}
	return `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?` + word + `+|` + number +
		`| ?[^\s\p{L}` + mark + `\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
}
