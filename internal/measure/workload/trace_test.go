package workload

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"treeline/internal/sharedtest"
)

func TestParseTrace(t *testing.T) {
	tests := []struct {
		name, in string
		want     Trace
	}{
		{
			"Mooncake", "{\"timestamp\": 3000, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [0, 7]}\n{\"timestamp\": 1500, \"input_length\": 3, \"output_length\": 2, \"hash_ids\": [1]}\n",
			Trace{{0, 3, 2, []int{1}}, {1500 * time.Millisecond, 600, 5, []int{0, 7}}},
		},
		{
			"Azure", "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 18:15:50.9951690,396,109\r\n",
			Trace{{0, 374, 44, nil}, {4314579 * time.Microsecond, 396, 109, nil}},
		},
		{
			"BurstGPT", "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n7,ChatGPT,10,0,10,API log\n45,GPT-4,1087,230,1317,Conversation log\n",
			Trace{{0, 472, 18, nil}, {40 * time.Second, 1087, 230, nil}},
		},
	}
	for _, tt := range tests {
		got, err := parseTrace("t", []byte(tt.in))
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

func TestParseTraceErrors(t *testing.T) {
	for in, want := range map[string]string{
		"": "f:1:1: the file is empty", "a,b\n": "f:1:1: no known trace", "TIMESTAMP,ContextTokens,GeneratedTokens\nsoon,1,2\n": `f:2:1: "soon" is neither seconds`,
		"TIMESTAMP,ContextTokens,GeneratedTokens\n1,x,2\n": `f:2:3: "x" is no number`, "TIMESTAMP,ContextTokens,GeneratedTokens\n1,2\n": "f:2:1: wrong number of fields",
		"TIMESTAMP,ContextTokens,GeneratedTokens\n1,-2,3\n": "f:2:3: -2 tokens", "TIMESTAMP,ContextTokens,GeneratedTokens\n": "holds no request",
		"{\"timestamp\":1}\n": "f:1:1: a Mooncake request needs", "{\"timestamp\":\"x\"}\n": "f:1:16: ", "{\"timestamp\":-1,\"input_length\":1,\"output_length\":1}": "timestamp is -1",
	} {
		if _, err := parseTrace("f", []byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want one with %q", in, err, want)
		}
	}
}

// Prompts have as many words as the trace has tokens, and share beginnings exactly where their blocks do.
func TestTracePrompts(t *testing.T) {
	p := Trace{{0, 1000, 9, []int{4, 5}}, {0, 700, 9, []int{4, 6}}, {0, 20, 9, nil}, {0, 20, 9, nil}, {0, 1100, 9, []int{4}}}.Prompts(3)
	text := func(i int) []string { return strings.Fields(p[i].Messages("")[0].Content) }
	words := func(i, n int) string { return strings.Join(text(i)[:n], " ") }
	for i, want := range []int{1000, 700, 20, 20, 1100} {
		if n := len(text(i)); n != want || p[i].Tokens != want || p[i].MaxTokens != 9 {
			t.Errorf("prompt %d: %d words, %d tokens wanted, %d of output; want %d, %d, 9", i, n, p[i].Tokens, p[i].MaxTokens, want, want)
		}
	}
	if !p[0].Shares || p[2].Shares {
		t.Error("prompts with blocks share their beginnings, others do not")
	}
	again, other := Trace{{0, 1000, 9, []int{4, 5}}}.Prompts(3), Trace{{0, 1000, 9, []int{4, 5}}}.Prompts(4)
	if again[0].Make() != p[0].Make() {
		t.Error("the same seed gives another text")
	}
	if strings.Fields(other[0].Make())[0] == text(0)[0] {
		t.Error("another seed begins alike: a second load would find the first one's text in the cache")
	}
	if words(4, TraceBlock) != words(0, TraceBlock) {
		t.Error("a prompt longer than its blocks does not begin with them")
	}
	if words(0, TraceBlock) != words(1, TraceBlock) || words(0, 700) == words(1, 700) {
		t.Error("want the first block shared and the second not")
	}
	if words(2, 1) == words(3, 1) {
		t.Error("prompts without blocks begin alike")
	}
}

func TestSharedTraces(t *testing.T) {
	for file, want := range map[string]int{"mooncake_conversation_200.jsonl": 200, "mooncake_synthetic_200.jsonl": 200, "azure_2023_conv_300.csv": 300, "azure_2023_code_300.csv": 300, "burstgpt_header_3rows.csv": 3} {
		got, err := LoadTrace(filepath.Join(sharedtest.Dir(t), "traces", file))
		if err != nil || len(got) != want {
			t.Errorf("%s: %d requests, %v; want %d", file, len(got), err, want)
		}
	}
}

func FuzzTrace(f *testing.F) {
	for _, s := range []string{"{\"timestamp\":1,\"input_length\":1,\"output_length\":1}\n", "TIMESTAMP,ContextTokens,GeneratedTokens\n1,2,3\n", "\"", "Timestamp,Request tokens,Response tokens\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseTrace("f", data)
		if (err == nil) != (len(got) > 0) {
			t.Errorf("%d requests with error %v", len(got), err)
		}
		for _, r := range got {
			if r.At < 0 || r.Input < 1 || r.Output < 1 {
				t.Errorf("request %+v", r)
			}
		}
	})
}
