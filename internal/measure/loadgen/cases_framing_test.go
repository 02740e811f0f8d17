package loadgen_test

import (
	"fmt"
	"strings"
)

// framingCases are 31 to 42: bytes that mean the same.
func framingCases() []streamCase {
	event := func(text string) string {
		return `{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"` + text + `\"}}]}`
	}
	two := "\n@900 FIN(stop) U(5,2) DONE"
	ending := "\n@900 FIN(stop) U(5,1) DONE"
	return []streamCase{
		{"31", "CRLF line ends", `@10 "data: ` + event("a") + `\r\n\r\ndata: ` + event("b") + `\r\n\r\n"` + two, `ok=yes text="ab" generating=2`, 0},
		{"31b", "CR line ends", `@10 "data: ` + event("a") + `\r\rdata: ` + event("b") + `\r\r"` + two, `ok=yes text="ab" generating=2`, 0},
		{"31c", "CR ends a read, LF begins the next", `@10 "data: ` + event("a") + `\r"` + "\n" + `@20 "\n\r\ndata:` + event("b") + `\r\r"` + two, `ok=yes text="ab" generating=2 ttft=20 events=5`, 0},
		{"32", "no space, two spaces, [DONE] without one", `@10 "data:` + event("a") + `\n\ndata:  ` + event("b") + `\n\n"` + "\n@20 FIN(stop) U(5,2) \"data:[DONE]\\n\\n\"", `ok=yes text="ab" notes=`, 0},
		{"33", "three events in one read", `@10 C("a") C("b") C("c")` + "\n@20 FIN(stop) U(5,3) DONE", `ok=yes generating=3 text="abc" ttft=10`, 0},
		{"33b", "one event over several reads, an emoji between two", `@10 "data: {\"choices\":[{\"delta\":{\"content\":\"x\xf0\x9f"` + "\n" + `@20 "\x98\x80y\"}}]}\n\n"` + "\n@30 FIN(stop) U(5,1) DONE", `ok=yes generating=1 text="x😀y" ttft=20`, 0},
		{"34", "a read that ends before a space inside a string", `@10 "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello"` + "\n" + `@20 " world\"}}]}\n\n"` + "\n@30 FIN(stop) U(5,2) DONE", `ok=yes text="Hello world"`, 0},
		{"35", "U+2028, U+2029 and U+0085 are no line ends", `@10 "data: {\"choices\":[{\"delta\":{\"content\":\"a\u2028b\u2029c\u0085d\"}}]}\n\n"` + ending, `ok=yes text="a\u2028b\u2029c\u0085d" generating=1`, 0},
		// A raw control character is no JSON in any strict reader: one event, and it fails with what was seen.
		{"35b", "a raw vertical tab is no line end, and no JSON", `@10 "data: {\"choices\":[{\"delta\":{\"content\":\"a\vb\"}}]}\n\n"` + ending, `ok=stream_error generating=0 events=4`, 0},
		{"36", "event:, id:, retry:, unknown fields, a BOM, data in two lines", `@10 "\xef\xbb\xbfevent: message\nid: 7\nretry: 3\nfoo: x\ndata: {\"choices\":[{\"delta\":\ndata: {\"content\":\"a\"}}]}\n\n"` + ending, `ok=yes text="a" generating=1`, 0},
		{"37", "comments before the first token", "@0 PING\n@5000 PING\n@6200 C(\"a\")\n@6210 FIN(stop) U(5,1) DONE", `ok=yes ttft=6200 beats=2`, 0},
		{"37b", "an event with empty data keeps the connection alive", `@10 "data:\n\ndata: \n\n"` + "\n@20 C(\"a\") \"data:\\n\\n\"\n@30 FIN(stop) U(5,1) DONE", `ok=yes text="a" ttft=20 generating=1`, 0},
		{"38", "an event of 70 KiB", `@10 C("` + strings.Repeat("x", 70<<10) + `")` + ending, `ok=yes generating=1 n=1`, 0},
		{"38b", "an event of 3 MiB", `@10 C("` + strings.Repeat("x", 3<<20) + `")` + ending, `ok=yes generating=1 n=1`, 0},
		{"39", "the last event lacks its empty line", `@10 C("a")` + "\n" + `@20 "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n"`, `ok=yes text="a" notes=tail_unclosed,no_done`, 0},
		{"39b", "half an event at the end", `@10 C("a")` + "\n" + `@20 "data: {\"choices\":[{\"del"`, `ok=truncated text="a"`, 0},
		{"40", "half a character held back while usage grows", "@10 J({\"choices\":[{\"delta\":{\"content\":\"\"}}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1,\"total_tokens\":6}})\n@20 J({\"choices\":[{\"delta\":{\"content\":\"é\"}}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2,\"total_tokens\":7}})\n@30 FIN(stop) U(5,2) DONE", `ok=yes ttft=10 ttfo=20 sizes=1,1 text="é"`, 0},
		{
			"41", "n = 2, choices interleaved", "@10 J({\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]})\n@15 J({\"choices\":[{\"index\":1,\"delta\":{\"content\":\"x\"}}]})\n@20 J({\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]})\n@25 J({\"choices\":[{\"index\":1,\"delta\":{\"content\":\"y\"},\"finish_reason\":\"stop\"}]}) U(5,4) DONE",
			`ok=yes text="ab" others="xy" n=4 tpot=- ttft=10`, 0,
		},
		{
			"41b", "n = 2, a running usage of each choice by itself", `@10 J({"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}})` + "\n" + `@20 J({"choices":[{"index":1,"delta":{"content":"b"}}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}})` + "\n@30 FIN(stop) U(5,5) DONE",
			`ok=yes n=5 notes= tpot=- others="b"`, 0,
		},
		{"42", "object null, delta missing, content null, more members", "@5 J({\"object\":null,\"choices\":[{\"index\":0}],\"x\":[1,{}]})\n@10 J({\"object\":null,\"choices\":[{\"delta\":{\"content\":null,\"role\":\"assistant\"}}]})\n@20 J({\"id\":7,\"choices\":[{\"delta\":{\"content\":\"a\"},\"logprobs\":null}]})\n@30 FIN(stop) U(5,1) DONE", `ok=yes text="a" ttft=20 generating=1`, 0},
	}
}

// endingCases are 43 to 56 as far as a transcript shows them; the others have tests of their own.
func endingCases() []streamCase {
	head := func(status, kind, body string) string {
		return `head "HTTP/1.1 ` + status + `\r\nContent-Type: ` + kind + `\r\nContent-Length: ` + number(float64(len(body))) + `\r\nConnection: close\r\n\r\n"` + "\n@10 " + quote(body)
	}
	return []streamCase{
		{"43", "finished, then the end without [DONE]", "@10 C(\"a\")\n@20 FIN(stop) U(5,1)", `ok=yes notes=no_done n=1`, 0},
		{"43b", "the end after 20 tokens without a finish", "@10 " + strings.Repeat(`C("a") `, 20), `ok=truncated generating=20`, 0},
		{"43d", "finished, then the connection breaks without [DONE]", "chunked\n@10 C(\"a\")\n@20 FIN(stop) U(5,1)\nend hold 0", `ok=truncated text="a"`, 0},
		{"43e", "no finish reason, but all tokens counted and [DONE]", "@10 C(\"a\")\n@20 C(\"b\") U(5,2) DONE", `ok=yes n=2 text="ab" finish=`, 0},
		{"43f", "no finish reason and no count: [DONE] alone is no success", "@10 C(\"a\")\n@20 C(\"b\") DONE", `ok=truncated generating=2`, 0},
		{"44", "[DONE], then the connection stays open", "@10 C(\"a\")\n@20 FIN(stop) U(5,1) DONE\nend hold 30000", `ok=yes end=20 tail=10 notes=`, 0},
		{"45", "an error object after 20 tokens, then [DONE]", "@10 " + strings.Repeat(`C("a") `, 20) + "\n@20 J({\"error\":{\"message\":\"CUDA error\",\"code\":500}}) DONE", `ok=stream_error generating=20 says="CUDA error"`, 0},
		{"45b", "event: error", "@10 C(\"a\")\n@20 \"event: error\\ndata: {\\\"message\\\":\\\"boom\\\"}\\n\\n\" DONE", `ok=stream_error generating=1`, 0},
		{"45d", "the server gives an answer up: abort", "@10 C(\"a\") C(\"b\")\n@20 FIN(abort) U(5,2) DONE", `ok=stream_error generating=2 says="the server gave the answer up with finish_reason \"abort\""`, 0},
		{"45e", "the server gives an answer up: error", "@10 C(\"a\")\n@20 FIN(error) DONE", `ok=stream_error generating=1`, 0},
		{"46", "200 with a JSON error", head("200 OK", "application/json", `{"error":{"message":"no such model"}}`), `ok=stream_error says="no such model"`, 0},
		{"46b", "200 with a login page", head("200 OK", "text/html", `<html>login</html>`), `ok=not_sse`, 0},
		{"47", "the stream was ignored: one JSON answer", head("200 OK", "application/json", `{"choices":[{"message":{"content":"a b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`), `ok=yes ttft=- n=2 text="a b" notes=not_streamed warns=not_streamed`, 0},
		{"48", "429 with Retry-After", `head "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"`, `ok=http_4xx`, 0},
		{"48b", "503", head("503 Service Unavailable", "application/json", `{"error":{"message":"loading"}}`), `ok=http_5xx says="HTTP 503: loading"`, 0},
		{"49", "no token: finished at once", "@10 FIN(stop) U(5,0) DONE", `ok=yes n=0 tpot=- ttft=- notes=empty_answer`, 0},
		{"51", "a proxy lets 60 tokens go in one read", "@16500 " + strings.Repeat(`C("a") `, 60) + " FIN(stop) U(5,60) DONE", `ok=yes generating=60 tpot=-`, 0},
		{"53", "307 to another host", `head "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n"`, `ok=http_3xx`, 0},
	}
}

// reportedCases are streams that users of other tools reported.
func reportedCases() []streamCase {
	return []streamCase{
		{"R1", "n = 2 with a usage chunk for each choice", "@10 J({\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]})\n@10 J({\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}}]})\n@20 J({\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}) J({\"choices\":[{\"index\":1,\"delta\":{},\"finish_reason\":\"length\"}]}) U(5,16) U(5,16) DONE", `ok=yes n=32 in=5 others="b" notes=`, 0},
		{"R2", "usage on the finish chunk only, which has text", "@10 C(\"a\")\n@20 J({\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2,\"total_tokens\":6}})", `ok=yes n=2 tpot=10 notes=no_done`, 0},
		{"R3", "comments of a proxy between the lines of one event", "@10 \"event: message\\n\" PING \"data: {\\\"choices\\\":[{\\\"delta\\\":{\\\"content\\\":\\\"a\\\"}}]}\\n: x\\n\"\n@20 \"\\n\"\n@30 FIN(stop) U(5,1) DONE", `ok=yes text="a" beats=2 ttft=20`, 0},
		{"R4", "200 with text/plain that is a stream", "head \"HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\nConnection: close\\r\\n\\r\\n\"\n@10 C(\"a\")\n@20 FIN(stop) U(5,1) DONE", `ok=yes text="a" n=1`, 0},
		{"R4b", "200 with text/plain that is none", "head \"HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\nConnection: close\\r\\n\\r\\n\"\n@10 \"Internal Server Error\"", `ok=not_sse`, 0},
		{"R5", "Content-Length shorter than the body", "head \"HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\nContent-Length: 70\\r\\nConnection: close\\r\\n\\r\\n\"\n@10 C(\"a\")\n@20 C(\"b\") FIN(stop) U(5,2) DONE", `ok=truncated text="a"`, 0},
		{"R6", "a chunked body without its last chunk, after [DONE]", "chunked\n@10 C(\"a\")\n@20 FIN(stop) U(5,1) DONE\nend hold 0", `ok=yes text="a" n=1`, 0},
		{"R6b", "a chunked body with trailers", "head \"HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\nTransfer-Encoding: chunked\\r\\nTrailer: X-Time\\r\\n\\r\\n\"\n@10 " +
			quote(framed(`data: {"choices":[{"index":0,"delta":{"content":"abc"}}]}`+"\n\n")) + "\n@20 " + quote(framed(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n")) + "\n@30 \"0\\r\\nX-Time: 7\\r\\n\\r\\n\"", `ok=yes text="abc" notes=no_done`, 0},
		// A limit of net/http, kept in sight: what has come of an HTTP chunk is handed on only with the rest of it. Without
		// chunks the same bytes have the stamps of their reads.
		{"R6c", "an HTTP chunk in two reads: stamped when it is whole", "head " + quote(chunkedHead) + "\n@10 " + quote(framed(content("a") + content("b"))[:len(content("a"))+4]) + "\n@60 " +
			quote(framed(content("a") + content("b"))[len(content("a"))+4:]+framed("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")+"0\r\n\r\n"), `ok=yes text="ab" generating=2 ttft=60`, 0},
		{"R6d", "the same bytes without chunks: stamped by their reads", "@10 C(\"a\")\n@60 C(\"b\") FIN(stop)", `ok=yes text="ab" generating=2 ttft=10 e2e=60`, 0},
		{"R7", "1xx responses before the head", "head \"HTTP/1.1 100 Continue\\r\\n\\r\\nHTTP/1.1 103 Early Hints\\r\\nLink: x\\r\\n\\r\\nHTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\nConnection: close\\r\\n\\r\\n\"\n@10 C(\"a\")\n@20 FIN(stop) U(5,1) DONE", `ok=yes text="a" ttft=10`, 0},
		{"R10", "duplicate keys in the JSON: the last counts", "@10 \"data: {\\\"choices\\\":[{\\\"delta\\\":{\\\"content\\\":\\\"a\\\",\\\"content\\\":\\\"b\\\"}}],\\\"model\\\":\\\"x\\\",\\\"model\\\":\\\"y\\\"}\\n\\n\"\n@20 FIN(stop) U(5,1) DONE", `ok=yes text="b" n=1`, 0},
	}
}

const chunkedHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func content(text string) string {
	return `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}` + "\n\n"
}

func quote(s string) string {
	return "\"" + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(s) + "\""
}

// framed is a chunk of HTTP's chunked encoding.
func framed(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }
