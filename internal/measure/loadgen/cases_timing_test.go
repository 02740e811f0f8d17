package loadgen_test

import "strings"

// timingCases are 1 to 20 of the list: what is a token, when did it come. 19 and 20 have tests of their own.
func timingCases() []streamCase {
	running := func(delta string, n int) string {
		return `J({"choices":[{"index":0,"delta":` + delta + `}],"usage":{"prompt_tokens":5,"completion_tokens":` + number(float64(n)) + `,"total_tokens":` + number(float64(5+n)) + `}})`
	}
	thinking := func(field string) string {
		var b strings.Builder
		for at := 30; at <= 880; at += 50 {
			b.WriteString("@" + number(float64(at)) + " " + strings.ReplaceAll(field, "X", "t") + "\n")
		}
		return b.String() + "@900 C(\"a\")\n@910 FIN(stop) U(5,20) DONE"
	}
	four := "@100 C(\"The\")\n@130 C(\" quick brown fox jumps\")\n@160 C(\" over the lazy\")\n@190 J({\"choices\":[{\"index\":0,\"delta\":{\"content\":\" dog.\"},\"finish_reason\":\"stop\"}]})\n@190 U(9,10) DONE"
	return []streamCase{
		{
			"1", "tokens one by one; the role chunk is none", "@50 ROLE\n@100 C(\"a\")\n@110 C(\"b\")\n@120 C(\"c\")\n@120 FIN(stop) U(5,3) DONE",
			`ok=yes ttft=100 tpot=10 tpot_vllm=10 n=3 icl=10,10 chunk=1 text="abc" generating=3 in=5 finish=stop`, 0,
		},
		{"2", "a role chunk long before the first token", "@5 ROLE\n@214 C(\"a\")\n@224 FIN(stop) U(5,1) DONE", `ok=yes ttft=214 ttfo=214 n=1`, 0},
		{"3", "chunks of 1, 4, 3 and 2 tokens", four, `ok=yes ttft=100 tpot=10 tpot_vllm=10 icl=30,30,30 chunk=3 e2e=190 tail=0 n=10 nfirst=unknown text="The quick brown fox jumps over the lazy dog."`, 0},
		{
			"4", "the same with a running usage", "@100 " + running(`{"content":"a"}`, 1) + "\n@130 " + running(`{"content":"b"}`, 5) + "\n@160 " + running(`{"content":"c"}`, 8) + "\n@190 " + running(`{"content":"d"}`, 10) + " FIN(stop) U(5,10) DONE",
			`ok=yes tokens=1,4,3,2 sizes=1,4,3,2 nfirst=1 tpot=10 chunk=3 n=10`, 0,
		},
		{
			"5", "five tokens in the first chunk, told", "@100 " + running(`{"content":"a"}`, 5) + "\n@150 " + running(`{"content":"b"}`, 10) + " FIN(stop) U(5,10) DONE",
			`ok=yes nfirst=5 tpot=10 tpot_vllm=5.555555555555555 chunk=5 icl=50`, 0,
		},
		{
			"6", "five tokens in the first chunk, not told: flagged", "@100 C(\"a\")\n@150 C(\"b\") FIN(stop) U(5,10) DONE",
			`ok=yes nfirst=unknown tpot=5.555555555555555 warns=first_event_size_unknown`, 0,
		},
		{
			"4b", "a running usage from the second chunk on, one token each", "@100 C(\"a\")\n@130 " + running(`{"content":"b"}`, 2) + "\n@160 " + running(`{"content":"c"}`, 5) + " FIN(stop) U(5,5) DONE",
			`ok=yes sizes=1,1,3 nfirst=1 tpot=15`, 0,
		},
		{
			"4c", "a running usage that comes too late to tell the first size", "@100 C(\"a\")\n@130 " + running(`{"content":"b"}`, 6) + "\n@160 " + running(`{"content":"c"}`, 9) + " \n@190 FIN(stop) U(5,9) DONE",
			`ok=yes sizes=0,0,3 nfirst=unknown n=9 e2e=160 tail=30 warns=first_event_size_unknown`, 0,
		},
		{
			"4d", "a running usage that falls in mid-stream", "@100 " + running(`{"content":"a"}`, 5) + "\n@130 " + running(`{"content":"b"}`, 3) + "\n@160 " + running(`{"content":"c"}`, 6) + " FIN(stop) U(5,6) DONE",
			`ok=yes tokens=5,0,1 sizes=5,0,1 n=6 notes=usage_fell`, 0,
		},
		{"6b", "the end token is counted, and comes with the finish reason", "@10 C(\"a\")\n@20 C(\"b\")\n@30 FIN(stop) U(5,3) DONE", `ok=yes n=3 text="ab" tpot=10 e2e=30 tail=0 sizes=1,1,1`, 0},
		{"7", "reasoning first (reasoning_content)", thinking(`R("X")`), `ok=yes ttft=30 ttfo=900 n=20 reasoning="` + strings.Repeat("t", 18) + `" text="a"`, 0},
		{"8", "reasoning first (vLLM's name)", thinking(`J({"choices":[{"delta":{"reasoning":"X"}}]})`), `ok=yes ttft=30 ttfo=900 n=20 reasoning="` + strings.Repeat("t", 18) + `"`, 0},
		{"8b", "reasoning first (reasoning_details)", thinking(`J({"choices":[{"delta":{"reasoning_details":[{"text":"X"}]}}]})`), `ok=yes ttft=30 ttfo=900 reasoning="` + strings.Repeat("t", 18) + `"`, 0},
		{"9", "the same reasoning under two names counts once", thinking(`J({"choices":[{"delta":{"reasoning":"X","reasoning_content":"X"}}]})`), `ok=yes reasoning="` + strings.Repeat("t", 18) + `"`, 0},
		{"10", "reasoning only, cut by the length", "@30 R(\"a\")\n@40 R(\"b\")\n@50 FIN(length) U(5,2) DONE", `ok=yes ttft=30 ttfo=- tpot=10 text="" reasoning="ab" finish=length`, 0},
		{"11", "tool calls in fragments, interleaved", `@70 J({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":""}}]}}]})
@80 J({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}}]})
@90 J({"choices":[{"delta":{"tool_calls":[{"index":1,"id":"y","function":{"name":"g","arguments":"{"}}]}}]})
@95 J({"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]})
@100 J({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]})
@110 FIN(tool_calls) U(5,9) DONE`, `ok=yes ttft=70 ttfo=70 tools="x:f:{\"a\":1}|y:g:{}" finish=tool_calls`, 0},
		{"11b", "a fragment without an index belongs to the call last spoken of", `@70 J({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"A"}}]}}]})
@75 J({"choices":[{"delta":{"tool_calls":[{"index":1,"id":"y","function":{"name":"g","arguments":"B"}}]}}]})
@80 J({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"C"}}]}}]})
@85 J({"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"D"}}]}}]})
@90 FIN(tool_calls) U(5,4) DONE`, `ok=yes tools="x:f:ACD|y:g:B"`, 0},
		{"11c", "id and name in every fragment; whole calls without an index", `@70 J({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"A"}}]}}]})
@75 J({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"B"}}]}}]})
@80 J({"choices":[{"delta":{"tool_calls":[{"id":"y","function":{"name":"f","arguments":"C"}},{"id":"y","function":{"name":"f","arguments":"D"}},{"function":{"name":"h","arguments":"E"}}]}}]})
@90 FIN(tool_calls) U(5,4) DONE`, `ok=yes tools="x:f:AB|y:f:CD|:h:E"`, 0},
		{"11d", "a refusal is output", `@70 J({"choices":[{"delta":{"refusal":"no"}}]})` + "\n@80 FIN(stop) U(5,1) DONE", `ok=yes text="no" ttft=70 ttfo=70`, 0},
		{"12", "empty deltas until a running usage jumps to 17", "@10 " + running(`{}`, 0) + "\n@20 " + running(`{}`, 0) + "\n@30 " + running(`{}`, 17) + "\n@40 FIN(stop) U(5,17) DONE", `ok=yes ttft=30 nfirst=17 n=17 ttfo=-`, 0},
		{
			"13", "tokens counted before their text is let go", "@90 " + running(`{}`, 1) + "\n@200 " + running(`{}`, 17) + "\n@210 " + running(`{"content":"forty characters of text held back until"}`, 18) + "\n@220 FIN(stop) U(5,18) DONE",
			`ok=yes ttft=90 ttfo=210 sizes=1,16,1 n=18`, 0,
		},
		{"14", "all tokens in one chunk", "@500 C(\"seven\")\n@500 FIN(stop) U(5,7) DONE", `ok=yes ttft=500 tpot=- e2e=500 n=7`, 0},
		{"15", "one token", "@80 C(\"a\")\n@80 FIN(length) U(5,1) DONE", `ok=yes ttft=80 tpot=- n=1`, 0},
		{"16", "text in the chunk with the finish reason", "@50 C(\"a\")\n@60 J({\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}) U(5,2) DONE", `ok=yes text="ab" e2e=60 tpot=10 finish=stop`, 0},
		{"17", "usage 40 ms after the last text", "@50 C(\"a\")\n@60 C(\"b\") FIN(stop)\n@100 U(5,2) DONE", `ok=yes e2e=60 tail=40 tpot=10`, 0},
		{"18", "prompt progress is no token", "@10 J({\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}],\"prompt_progress\":{\"total\":9,\"processed\":3}})\n@70 C(\"a\") FIN(stop) U(5,1) DONE", `ok=yes ttft=70 generating=1`, 0},
	}
}

// usageCases are 21 to 30: how many tokens there were. 29 has a test of its own.
func usageCases() []streamCase {
	usage := func(json string) string { return `J({"choices":[],"usage":` + json + `})` }
	return []streamCase{
		{"21", "usage null in every chunk, real in the last", "@10 J({\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":null})\n@20 J({\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":null}) U(4,1) DONE", `ok=yes n=1 in=4`, 0},
		{"22", "usage on the finish chunk, none after", "@10 C(\"a\")\n@20 C(\"b\")\n@30 J({\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2,\"total_tokens\":6}}) DONE", `ok=yes n=2 tpot=10`, 0},
		{"23", "usage with choices empty, missing or null", "@10 C(\"a\") FIN(stop)\n@20 U(4,1)\n@21 J({\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":1,\"total_tokens\":5}})\n@22 J({\"choices\":null,\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":1,\"total_tokens\":5}}) DONE", `ok=yes n=1`, 0},
		{"24", "no usage at all", "@10 C(\"a\")\n@20 C(\"b\") FIN(stop) DONE", `ok=yes n=unknown tpot=- ttft=10 warns=usage_missing`, 0},
		{"25", "usage of zero with text", "@10 C(\"" + strings.Repeat("x", 300) + "\") FIN(stop) U(0,0) DONE", `ok=yes n=unknown notes=zero_usage warns=usage_missing`, 0},
		{"25b", "usage of zero with a tool call only", `@10 J({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]}}]})` + " FIN(tool_calls) U(5,0) DONE", `ok=yes n=unknown notes=zero_usage`, 0},
		{"25c", "usage below zero", "@10 C(\"a\") FIN(stop) U(5,-3) DONE", `ok=yes n=unknown notes=zero_usage warns=usage_missing`, 0},
		{"26", "reasoning tokens outside completion_tokens", "@10 C(\"a\") FIN(stop) " + usage(`{"prompt_tokens":5,"completion_tokens":40,"total_tokens":105,"completion_tokens_details":{"reasoning_tokens":60}}`) + " DONE", `ok=yes n=100 notes=reasoning_outside`, 0},
		{"27", "reasoning tokens inside completion_tokens", "@10 C(\"a\") FIN(stop) " + usage(`{"prompt_tokens":5,"completion_tokens":100,"total_tokens":105,"completion_tokens_details":{"reasoning_tokens":60}}`) + " DONE", `ok=yes n=100 notes=`, 0},
		{"28", "two usages, the second smaller", "@10 C(\"a\") FIN(stop) U(5,9) U(5,7) DONE", `ok=yes n=7 notes=usage_fell`, 0},
		{"30", "more tokens than asked for", "@10 C(\"a\")\n@20 C(\"b\") FIN(length) U(5,19) DONE", `ok=yes n=19 notes=over_max_tokens`, 16},
	}
}
