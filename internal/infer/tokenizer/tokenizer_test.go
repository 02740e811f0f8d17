package tokenizer

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2/v2"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"treeline/internal/infer/gguf"
	"treeline/internal/sharedtest"
)

// tiny is a vocabulary of all bytes and a few merges, with control tokens of which one begins like another.
func tiny(t testing.TB, pre string, merges ...string) *Tokenizer {
	t.Helper()
	fam, err := familyOf(pre)
	if err != nil {
		t.Fatal(err)
	}
	var entries []string
	for _, r := range byteAlphabet() {
		entries = append(entries, string(r))
	}
	for _, m := range merges {
		entries = append(entries, strings.Replace(m, " ", "", 1))
	}
	normal := len(entries)
	entries = append(entries, "<|im_end|>", "<|im|>", "<|im|>x", "<tool>")
	v, err := newVocabulary(fam, len(entries), len(merges))
	if err != nil {
		t.Fatal(err)
	}
	for id, e := range entries {
		typ := typeNormal
		if id >= normal {
			typ = typeControl
		}
		if e == "<tool>" {
			typ = typeUserDefined
		}
		if err := v.add(int32(id), e, typ); err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range merges {
		left, right, _ := strings.Cut(m, " ")
		if err := v.merge(i, left, right); err != nil {
			t.Fatal(err)
		}
	}
	tok := v.finish()
	tok.setEOS(nil)
	return tok
}

func pieces(tok *Tokenizer, ids []int32) []string {
	var out []string
	for _, id := range ids {
		out = append(out, tok.Piece(id, false))
	}
	return out
}

func TestEncode(t *testing.T) {
	tok := tiny(t, "gpt-2", "l l", "h e", "he ll", "hell o", "Ġ w", "l o")
	tests := []struct {
		text    string
		special bool
		want    []string
	}{
		{"", true, nil},
		{"hello", true, []string{"hello"}},
		{"hello w", true, []string{"hello", " w"}},
		{"lllo", true, []string{"ll", "lo"}},
		{"a<|im_end|>b", true, []string{"a", "<|im_end|>", "b"}},
		{"<|im|>x<|im|>y", true, []string{"<|im|>x", "<|im|>", "y"}},
		{"<tool><|", false, []string{"<tool>", "<", "|"}},
		{"<|im|>", false, []string{"<", "|", "i", "m", "|", ">"}},
		{"é\xff", true, []string{"\xc3", "\xa9", "\xff"}},
	}
	for _, tt := range tests {
		if got := pieces(tok, tok.Encode(tt.text, tt.special)); !slices.Equal(got, tt.want) {
			t.Errorf("Encode(%q, %v): got %q, want %q", tt.text, tt.special, got, tt.want)
		}
	}
}

func TestDecode(t *testing.T) {
	tok := tiny(t, "gpt-2")
	end, _ := tok.ID("<|im_end|>")
	euro := tok.Encode("€", false)
	tests := []struct {
		ids    []int32
		skip   bool
		want   string
		stream []string
	}{
		{nil, true, "", []string{""}},
		{[]int32{'h', end, 'i'}, true, "hi", []string{"h", "", "i", ""}},
		{[]int32{'h', end, 'i'}, false, "h<|im_end|>i", []string{"h", "<|im_end|>", "i", ""}},
		{euro, true, "€", []string{"", "", "€", ""}},
		{euro[:2], true, "\uFFFD", []string{"", "", "\uFFFD"}},
		{[]int32{euro[0], 'x'}, true, "\uFFFDx", []string{"", "\uFFFDx", ""}},
		{[]int32{0xed, 0xa0}, true, "\uFFFD\uFFFD", []string{"", "\uFFFD\uFFFD", ""}},
		{[]int32{0xe2, 0x82, 0xf0, 0x9f}, true, "\uFFFD\uFFFD", []string{"", "", "\uFFFD", "", "\uFFFD"}},
		{[]int32{-1, 99999, 'x'}, true, "x", []string{"", "", "x", ""}},
	}
	for _, tt := range tests {
		if got := tok.Decode(tt.ids, tt.skip); got != tt.want {
			t.Errorf("Decode(%v, %v): got %q, want %q", tt.ids, tt.skip, got, tt.want)
		}
		if got := stream(tok, tt.ids, tt.skip); !slices.Equal(got, tt.stream) {
			t.Errorf("stream of %v, %v: got %q, want %q", tt.ids, tt.skip, got, tt.stream)
		}
	}
}

func TestTinyModels(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(sharedtest.Dir(t), "fixtures", "gguf", "tiny-*.gguf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tiny models: %v", err)
	}
	for _, path := range files {
		f, err := gguf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := FromGGUF(f)
		f.Close()
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		const text = "we can, 12 times <|im_end|>\n"
		ids := tok.Encode(text, true)
		if got := tok.Decode(ids, false); got != text {
			t.Errorf("%s: got %q, want %q", path, got, text)
		}
		if !slices.Contains(ids, 510) || !slices.Equal(tok.EOS(), []int32{510}) {
			t.Errorf("%s: %v lacks 510, or the end tokens are %v", path, ids, tok.EOS())
		}
		if !slices.Equal(tok.Prompt(text), ids) {
			t.Errorf("%s: a prompt gets a start token that was not asked for", path)
		}
	}
}

func TestRefused(t *testing.T) {
	_, err := familyOf("deepseek-v3")
	if err == nil || !strings.Contains(err.Error(), `"deepseek-v3"`) {
		t.Errorf("an unknown pre-tokenizer gives %v", err)
	}
	for text, want := range map[string]string{
		`{`:                            "unexpected end",
		`{"model":{"type":"Unigram"}}`: `model type "Unigram"`,
		`{"model":{"type":"BPE"},"normalizer":{"type":"NFKC"}}`:                                                                                                                `normalizer "NFKC"`,
		`{"model":{"type":"BPE"}}`:                                                                                                                                             "no pre_tokenizer",
		`{"model":{"type":"BPE"},"pre_tokenizer":{"type":"Metaspace"}}`:                                                                                                        "not one splitting step",
		`{"model":{"type":"BPE"},"pre_tokenizer":{"type":"ByteLevel"}}`:                                                                                                        "largest token id is -1",
		`{"model":{"type":"BPE","vocab":{"a":2147483646}},"pre_tokenizer":{"type":"ByteLevel"}}`:                                                                               "largest token id",
		`{"model":{"type":"BPE","vocab":{"a":-1,"b":0}},"pre_tokenizer":{"type":"ByteLevel"}}`:                                                                                 "has id -1",
		`{"model":{"type":"BPE","vocab":{"a":0},"merges":["ab"]},"pre_tokenizer":{"type":"ByteLevel"}}`:                                                                        "not two tokens",
		`{"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]},"pre_tokenizer":{"type":"ByteLevel"}}`:                                                                       "merge 0 joins",
		`{"model":{"type":"BPE","vocab":{"a":0}},"added_tokens":[{"id":1,"content":"x","lstrip":true}],"pre_tokenizer":{"type":"ByteLevel"}}`:                                  "lstrip",
		`{"model":{"type":"BPE","vocab":{"a":0}},"added_tokens":[{"id":1,"content":"` + strings.Repeat("x", 2000) + `","special":true}],"pre_tokenizer":{"type":"ByteLevel"}}`: "special token 1 is 2000 bytes long",
	} {
		if _, err := FromJSON([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		}
	}
}

// splitCase pairs a splitter with the expression that defines it.
type splitCase struct {
	name  string
	split splitter
	words func(string) []string
}

func splitCases() []splitCase {
	const plain = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	expr := func(s string) func(string) []string {
		re := regexp2.MustCompile(s, regexp2.None)
		return func(text string) []string { return matches(re, text) }
	}
	cases := []splitCase{{"gpt2", gpt2{}.split, expr(plain)}}
	digit, word := regexp2.MustCompile(`\p{N}|\P{N}+`, regexp2.None), expr(plain)
	cases = append(cases, splitCase{"smollm", gpt2{digits: true}.split, func(text string) []string {
		var out []string
		for _, part := range matches(digit, text) {
			out = append(out, word(part)...)
		}
		return out
	}})
	for name, p := range map[string]pattern{"llama3": {digits: 3}, "qwen2": {digits: 1}, "qwen35": {digits: 1, marks: true}} {
		cases = append(cases, splitCase{name, p.split, expr(p.regexp())})
	}
	return cases
}

func matches(re *regexp2.Regexp, text string) (out []string) {
	m, _ := re.FindStringMatch(text)
	for m != nil {
		out = append(out, m.String())
		m, _ = re.FindNextMatch(m)
	}
	return out
}

func words(split splitter, text string) (out []string) {
	for len(text) > 0 {
		n := split(text)
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

// TestSplit holds the hand-written splitters against the expressions they implement.
func TestSplit(t *testing.T) {
	alphabet := []rune(" \t\n\r\u00a0\u2003ab'sS'tredlm'Ré中ß\u0301\u0903012½٣.,!-_()€😀\x00\u200d\u017f")
	cases := splitCases()
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.SampledFrom(alphabet), 0, 24).Draw(t, "text"))
		for _, c := range cases {
			if got, want := words(c.split, text), c.words(text); !slices.Equal(got, want) {
				t.Fatalf("%s %q: got %q, want %q", c.name, text, got, want)
			}
		}
	})
}

// TestMergePaths wants the heap to do exactly what the plain search does.
func TestMergePaths(t *testing.T) {
	tok := tiny(t, "gpt-2", "a a", "a b", "b a", "aa aa", "ab ab", "aa b", "c aab", "aab c", "aaaa a")
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[abc]{0,60}`).Draw(t, "word")
		if got, want := tok.mergeLong(nil, word), tok.mergeShort(nil, word); !slices.Equal(got, want) {
			t.Fatalf("%q: got %q, want %q", word, pieces(tok, got), pieces(tok, want))
		}
	})
}

// TestNFC holds the long way against package norm where both are defined.
func TestNFC(t *testing.T) {
	alphabet := []rune("aeE\u0301\u0308\u0323\u0327\u1e69s\u0307가\u1100\u1161\u11a8é\u212b\u0958\u0f73")
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.SampledFrom(alphabet), 0, 12).Draw(t, "text"))
		if got, want := compose(order(decompose(text))), norm.NFC.String(text); got != want {
			t.Fatalf("%+q: got %+q, want %+q", text, got, want)
		}
	})
	long := "e" + strings.Repeat("\u0323\u0301", 40)
	if got := nfc(long); strings.Contains(got, joiner) || !strings.HasPrefix(got, "\u1eb9\u0323") {
		t.Errorf("a long run of marks gives %+q", got)
	}
}

// TestLongTexts encodes 256 kB of one kind of character. That is quick when the work grows as n log n, and takes many
// minutes when it grows as n squared.
func TestLongTexts(t *testing.T) {
	tok := tiny(t, "llama-bpe", "a a", "aa aa", "Ġ Ġ", "ĠĠ ĠĠ")
	for _, unit := range []string{"a", " ", "\n", " \n", "1", "'", "<", "<|im", "é", "\xff"} {
		text := strings.Repeat(unit, 1<<18/len(unit))
		start := time.Now()
		if got := strings.Join(pieces(tok, tok.Encode(text, true)), ""); got != text {
			t.Errorf("256 kB of %q came back as %d bytes", unit, len(got))
		}
		t.Logf("%q: %v", unit, time.Since(start))
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{"", "hello world", "it's 2024!\r\n\t x", "naïve €😀\u0301", "\xff\xfe<|im_end|>", "   \n  a  "} {
		f.Add(s)
	}
	var toks []*Tokenizer
	for _, pre := range []string{"gpt-2", "smollm", "llama-bpe"} {
		toks = append(toks, tiny(f, pre, "h e", "l l", "he ll", "Ġ w", "Ġ Ġ"))
	}
	cases := splitCases()
	f.Fuzz(func(t *testing.T, text string) {
		valid := strings.ToValidUTF8(text, "")
		for _, c := range cases {
			if got, want := words(c.split, valid), c.words(valid); !slices.Equal(got, want) {
				t.Errorf("%s %q: got %q, want %q", c.name, valid, got, want)
			}
		}
		for _, tok := range toks {
			for _, special := range []bool{false, true} {
				ids := tok.Encode(text, special)
				if got := strings.Join(pieces(tok, ids), ""); got != text {
					t.Errorf("%q came back as %q", text, got)
				}
				if got, want := strings.Join(stream(tok, ids, true), ""), tok.Decode(ids, true); got != want {
					t.Errorf("%q: the stream gives %q, Decode %q", text, got, want)
				}
			}
		}
	})
}

// FuzzFromJSON wants an error or a tokenizer that works of any file.
func FuzzFromJSON(f *testing.F) {
	f.Add(`{"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]},"pre_tokenizer":{"type":"ByteLevel"},"added_tokens":[{"id":3,"content":"<x>","special":true}]}`)
	f.Add(`{"model":{"type":"BPE","vocab":{"a":5},"merges":[["a","a"]]},"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},{"type":"ByteLevel"}]}}`)
	f.Fuzz(func(t *testing.T, data string) {
		tok, err := FromJSON([]byte(data))
		if err != nil {
			return
		}
		ids := tok.Encode("ab<x> 12 é", true)
		for _, id := range ids {
			if id < 0 || int(id) >= tok.Vocab() {
				t.Errorf("token %d is outside of 0 to %d", id, tok.Vocab()-1)
			}
		}
		tok.Decode(ids, true)
	})
}
