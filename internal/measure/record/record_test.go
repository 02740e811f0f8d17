package record

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"treeline/internal/host"
)

// script builds a stream from reads given as "@ms text".
func script(reads ...string) *Stream {
	s := &Stream{Status: 200, ContentType: "text/event-stream", End: EndEOF}
	for _, r := range reads {
		at, text, _ := strings.Cut(strings.TrimPrefix(r, "@"), " ")
		d, err := time.ParseDuration(at + "ms")
		if err != nil {
			panic(err)
		}
		s.Reads = append(s.Reads, Read{At: int64(d), N: len(text)})
		s.Body = append(s.Body, text...)
		s.EndAt = int64(d)
	}
	return s
}

func data(json string) string { return "data: " + json + "\n\n" }
func content(text string) string {
	return data(`{"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}`)
}

const (
	role  = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
	fin   = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
	usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":3,\"total_tokens\":8}}\n\n"
	done  = "data: [DONE]\n\n"
)

type filled struct {
	OK                    bool
	Class                 string
	First, FirstOut, Last float64 // ms, -1 absent
	N                     int     // -1 unknown
	Text                  string
	Tokens                []int // of the arrivals
}

func fill(s *Stream) (filled, Request) {
	var r Request
	s.Fill(&r)
	ms := func(ns int64) float64 {
		if ns < 0 {
			return -1
		}
		return float64(ns) / 1e6
	}
	n, ok := r.OutputTokens()
	if !ok {
		n = -1
	}
	var tokens []int
	for _, a := range r.Arrivals() {
		tokens = append(tokens, a.Tokens)
	}
	return filled{r.OK, r.ErrorClass, ms(r.First), ms(r.FirstOut), ms(r.Last), n, r.Text + r.Reasoning, tokens}, r
}

func running(n int) string {
	return `,"usage":{"prompt_tokens":5,"completion_tokens":` + strconv.Itoa(n) + `,"total_tokens":` + strconv.Itoa(5+n) + `}}` + "\n\n"
}

func TestFill(t *testing.T) {
	tests := []struct {
		name string
		in   *Stream
		want filled
	}{
		{
			"plain", script("@50 "+role, "@100 "+content("a"), "@110 "+content("b"), "@120 "+content("c"), "@120 "+fin+usage+done),
			filled{true, "", 100, 100, 120, 3, "abc", []int{1, 1, 1}},
		},
		{
			"reasoning", script("@30 "+data(`{"choices":[{"delta":{"reasoning_content":"r"}}]}`), "@900 "+content("a"), "@910 "+fin+done),
			filled{true, "", 30, 900, 900, -1, "ar", []int{0, 0}},
		},
		{
			"reasoning under two names", script("@30 " + data(`{"choices":[{"delta":{"reasoning_content":"r","reasoning":"r"}}]}`) + fin),
			filled{true, "", 30, -1, 30, -1, "r", []int{0}},
		},
		{
			"reasoning_details", script("@30 " + data(`{"choices":[{"delta":{"reasoning_details":[{"text":"r"}]}}]}`) + fin),
			filled{true, "", 30, -1, 30, -1, "r", []int{0}},
		},
		{
			"tool call", script("@30 " + data(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x"}]}}]}`) + fin),
			filled{true, "", 30, 30, 30, -1, "", []int{0}},
		},
		{
			"running usage", script("@100 data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]"+running(5), "@150 data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]"+running(10), "@151 "+fin),
			filled{true, "", 100, 100, 150, 10, "ab", []int{5, 5}},
		},
		{
			"text held back while usage grows", script(
				"@90 data: {\"choices\":[{\"delta\":{}}]"+running(1), "@200 data: {\"choices\":[{\"delta\":{}}]"+running(17),
				"@210 data: {\"choices\":[{\"delta\":{\"content\":\"long text\"}}]"+running(18), "@220 "+fin),
			filled{true, "", 90, 210, 210, 18, "long text", []int{1, 16, 1}},
		},
		{
			"empty deltas at usage 0, then 17", script(
				"@10 data: {\"choices\":[{\"delta\":{}}]"+running(0), "@20 data: {\"choices\":[{\"delta\":{}}]"+running(0),
				"@30 data: {\"choices\":[{\"delta\":{}}]"+running(17), "@40 "+fin),
			filled{true, "", 30, -1, 30, 17, "", []int{17}},
		},
		{
			"usage only from the second chunk on", script("@10 "+content("a"), "@20 data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]"+running(2), "@40 "+fin),
			filled{true, "", 10, 10, 20, 2, "ab", []int{1, 1}},
		},
		{
			"usage in the finish chunk", script("@10 "+content("a"), "@20 "+content("b"), "@30 data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]"+running(7)),
			filled{true, "", 10, 10, 30, 7, "ab", []int{0, 0, 0}},
		},
		{
			"an end token that no event carries", script("@10 "+content("a"), "@20 "+content("b"), "@30 "+fin+usage+done),
			filled{true, "", 10, 10, 30, 3, "ab", []int{1, 1, 1}},
		},
		{
			"a burst over reads is one arrival", script("@10 "+content("a"), "@20 "+content("b"), "@20.2 "+content("c"), "@30 "+fin+usage),
			filled{true, "", 10, 10, 20.2, 3, "abc", []int{1, 2}},
		},
		{
			"token ids", script("@10 "+data(`{"choices":[{"delta":{"content":"a"},"token_ids":[1,2,3]}]}`), "@20 "+data(`{"choices":[{"delta":{"content":"b"},"finish_reason":"stop","token_ids":[4]}]}`)),
			filled{true, "", 10, 10, 20, -1, "ab", []int{3, 1}},
		},
		{
			"a burst in one read is one arrival", script("@10 "+content("a"), "@20 "+content("b")+content("c"), "@30 "+fin+usage),
			filled{true, "", 10, 10, 20, 3, "abc", []int{1, 2}},
		},
		{
			"text in the finish chunk", script("@10 "+content("a"), "@40 "+data(`{"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}]}`)),
			filled{true, "", 10, 10, 40, -1, "ab", []int{0, 0}},
		},
		{
			"usage null, then real, choices null", script("@10 " + data(`{"choices":[{"delta":{"content":"a"}}],"usage":null}`) + fin + data(`{"choices":null,"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)),
			filled{true, "", 10, 10, 10, 1, "a", []int{1}},
		},
		{
			"usage of zero with text is unknown", script("@10 " + content("a") + fin + data(`{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}`)),
			filled{true, "", 10, 10, 10, -1, "a", []int{0}},
		},
		{
			"reasoning outside completion_tokens", script("@10 " + content("a") + fin + data(`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":40,"total_tokens":105,"completion_tokens_details":{"reasoning_tokens":60}}}`)),
			filled{true, "", 10, 10, 10, 100, "a", []int{0}},
		},
		{
			"reasoning inside completion_tokens", script("@10 " + content("a") + fin + data(`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":100,"total_tokens":105,"completion_tokens_details":{"reasoning_tokens":60}}}`)),
			filled{true, "", 10, 10, 10, 100, "a", []int{0}},
		},
		{
			"prompt progress is not a token", script("@10 "+data(`{"choices":[{"delta":{"role":"assistant","content":null}}],"prompt_progress":{"total":9,"processed":3}}`), "@50 "+content("a"), "@60 "+fin),
			filled{true, "", 50, 50, 50, -1, "a", []int{0}},
		},
		{
			"wrong types are skipped", script("@10 " + data(`{"object":null,"created":1.5,"id":7,"choices":[{"index":0,"delta":{"content":"a","role":null}}]}`) + fin),
			filled{true, "", 10, 10, 10, -1, "a", []int{0}},
		},
		{"finished without a token", script("@10 " + role + fin + done), filled{true, "", -1, -1, -1, -1, "", nil}},
		{"no DONE", script("@10 " + content("a") + fin), filled{true, "", 10, 10, 10, -1, "a", []int{0}}},
		{"DONE and usage but no finish reason", script("@10 " + content("a") + usage + done), filled{true, "", 10, 10, 10, 3, "a", []int{0}}},
		{"unclosed last event is used", script("@10 "+content("a"), "@20 "+strings.TrimSuffix(fin, "\n\n")), filled{true, "", 10, 10, 10, -1, "a", []int{0}}},

		{"DONE alone", script("@10 " + done), filled{false, ClassEmpty, -1, -1, -1, -1, "", nil}},
		{"nothing", script("@10 "), filled{false, ClassEmpty, -1, -1, -1, -1, "", nil}},
		{"cut off", script("@10 "+content("a"), "@20 data: {\"choi"), filled{false, ClassTruncated, 10, 10, 10, -1, "a", []int{0}}},
		{"cut in the first event", script("@20 data: {\"choi"), filled{false, ClassTruncated, -1, -1, -1, -1, "", nil}},
		{"error inside 200", script("@10 " + content("a") + data(`{"error":{"message":"CUDA error","code":500}}`) + done), filled{false, ClassStream, 10, 10, 10, -1, "a", []int{0}}},
		{"error event", script("@10 " + content("a") + "event: error\ndata: boom\n\n" + fin), filled{false, ClassStream, 10, 10, 10, -1, "a", []int{0}}},
		{"flat error", script("@10 " + data(`{"object":"error","message":"no"}`) + done), filled{false, ClassStream, -1, -1, -1, -1, "", nil}},
		{"error after the finish", script("@10 " + content("a") + fin + data(`{"error":"late"}`)), filled{false, ClassStream, 10, 10, 10, -1, "a", []int{0}}},
		{"not JSON", script("@10 " + content("a") + data(`{oops`) + fin), filled{false, ClassStream, 10, 10, 10, -1, "a", []int{0}}},
		{"web page", whole("text/html", "<html><body>Please log in</body></html>"), filled{false, ClassNotSSE, -1, -1, -1, -1, "", nil}},
		{"JSON error with 200", whole("application/json", `{"error":{"message":"no"}}`), filled{false, ClassStream, -1, -1, -1, -1, "", nil}},
		{"stream was ignored", whole("application/json", `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"completion_tokens":2}}`), filled{true, "", -1, -1, -1, 2, "a", nil}},
		{"stream with a lost content type", func() *Stream { s := script("@10 " + content("a") + fin); s.ContentType = ""; return s }(), filled{true, "", 10, 10, 10, -1, "a", []int{0}}},
		{"400", status(400, `{"error":{"message":"too long"}}`), filled{false, ClassHTTP4xx, -1, -1, -1, -1, "", nil}},
		{"503", status(503, ``), filled{false, ClassHTTP5xx, -1, -1, -1, -1, "", nil}},
		{"307", status(307, ``), filled{false, ClassHTTP3xx, -1, -1, -1, -1, "", nil}},
		{"reset after DONE", ended(script("@10 "+content("a")+fin+done), EndError), filled{true, "", 10, 10, 10, -1, "a", []int{0}}},
		{"reset before the finish", ended(script("@10 "+content("a")), EndError), filled{false, ClassTruncated, 10, 10, 10, -1, "a", []int{0}}},
		{"idle", ended(script("@10 "+content("a")), EndTimeout), filled{false, ClassTimeout, 10, 10, 10, -1, "a", []int{0}}},
		{"cancelled", ended(script("@10 "+content("a")), EndCancelled), filled{false, ClassCancelled, 10, 10, 10, -1, "a", []int{0}}},
		{"no connection", &Stream{Class: ClassConnect, Error: "refused", End: EndError}, filled{false, ClassConnect, -1, -1, -1, -1, "", nil}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, r := fill(tt.in)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\nerror text: %s", diff, r.Error)
			}
			if !r.OK && r.Error == "" {
				t.Errorf("failed as %s without a text", r.ErrorClass)
			}
		})
	}
}

func whole(kind, body string) *Stream {
	s := script("@5 " + body)
	s.ContentType = kind
	return s
}

func status(code int, body string) *Stream {
	s := whole("application/json", body)
	s.Status = code
	return s
}

func ended(s *Stream, end End) *Stream {
	s.End = end
	return s
}

// keep writes a stream that is in memory, in pieces of one read.
func keep(w *Writer, r *Request, s *Stream) error {
	err := w.Begin(r.ID, s)
	n := 0
	for _, read := range s.Reads {
		err = errors.Join(err, w.Piece(r.ID, Piece{[]Read{read}, s.Body[n : n+read.N]}))
		n += read.N
	}
	return errors.Join(err, w.Request(r, s))
}

func TestFolderRoundTrip(t *testing.T) {
	dir := t.TempDir()
	if err := CreateFolder(dir, host.Fingerprint{Machine: "m"}); err != nil {
		t.Fatal(err)
	}
	w, err := CreateStart(dir, 1, "ngram/../x")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	want := Request{ID: 3, Prompt: "code-01", Call: 5, Wrote: 7}
	s := script("@100 "+content("a"), "@110 "+content("b"), "@120 "+content("c")+fin+usage+done)
	s.Fill(&want)
	if err := keep(w, &want, s); err != nil {
		t.Fatal(err)
	}
	folders, err := StartFolders(dir)
	if err != nil || len(folders) != 1 || folders[0] != w.Dir() {
		t.Fatalf("StartFolders = %v, %v; want %s", folders, err, w.Dir())
	}
	got, err := ReadRequests(folders[0])
	if err != nil {
		t.Fatal(err)
	}
	line := want
	line.Events = nil // they follow from the stream
	if diff := cmp.Diff([]Request{line}, got); diff != "" {
		t.Errorf("requests.jsonl (-want +got):\n%s", diff)
	}
	again, err := Recompute(folders[0])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Request{want}, again); diff != "" {
		t.Errorf("recomputed (-want +got):\n%s", diff)
	}
	if _, err := CreateStart(dir, 1, "ngram/../x"); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("second start in one folder: got error %v, want one that names --out", err)
	}
}

// A request that was finished when the process was killed is on disk, with its stream.
func TestFinishedRequestSurvivesKill(t *testing.T) {
	const child = "TREELINE_TEST_RECORD_CHILD"
	if dir := os.Getenv(child); dir != "" {
		w, err := CreateStart(dir, 1, "")
		if err != nil {
			t.Fatal(err)
		}
		for id := range 3 {
			r := Request{ID: id}
			s := script("@1 " + content("a") + fin + done)
			s.Fill(&r)
			if err := keep(w, &r, s); err != nil {
				t.Fatal(err)
			}
		}
		w.requests.file.WriteString(`{"id":3,"prompt":"cut o`) // the kill came in the middle of a line
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		self.Kill()
		time.Sleep(time.Minute)
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestFinishedRequestSurvivesKill$")
	cmd.Env = append(os.Environ(), child+"="+dir)
	if err := cmd.Run(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("child ended with %v, want killed", err)
	}
	got, err := Recompute(StartFolder(dir, 1, ""))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || !got[2].OK || got[2].Text != "a" {
		t.Errorf("after the kill: %+v, want 3 whole requests", got)
	}
}

func TestBenchFile(t *testing.T) {
	dir := t.TempDir()
	first := &Bench{Schema: BenchSchema, Starts: []Start{{Order: 1, Arm: "a"}}}
	if err := WriteBench(dir, first); err != nil {
		t.Fatal(err)
	}
	old, err := ReadBench(filepath.Join(dir, BaselineFile))
	if err != nil {
		t.Fatal(err)
	}
	both := Append(old, &Bench{Schema: BenchSchema, Valid: true, Starts: []Start{{Order: 1, Arm: "b"}}})
	if len(both.Starts) != 2 || both.Starts[1].Order != 2 || both.Starts[1].Arm != "b" || !both.Valid {
		t.Errorf("Append gave %+v", both)
	}
	other := filepath.Join(dir, "x.json")
	os.WriteFile(other, []byte(`{"schema":"other"}`), 0o644)
	if _, err := ReadBench(other); err == nil || !strings.Contains(err.Error(), `"other"`) {
		t.Errorf("foreign schema: got error %v", err)
	}
	if _, err := ReadBench(filepath.Join(dir, "none")); err == nil {
		t.Error("absent file: no error")
	}
}

// A write that fails leaves whole entries: the folder reads as if the failed ones had never been tried.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := CreateFolder(dir, host.Fingerprint{Machine: "m"}); err != nil {
		t.Fatal(err)
	}
	w, err := CreateStart(dir, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r := Request{ID: 1}
	s := script("@1 " + content("a") + fin + done)
	s.Fill(&r)
	if err := keep(w, &r, s); err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	for _, tape := range []*tape{w.streams, w.requests} {
		tape.file.Close()
		tape.file = full
	}
	r.ID = 2
	if err := keep(w, &r, s); err == nil || !strings.Contains(err.Error(), "no space left on device; make room") {
		t.Errorf("got error %v, want one that says what to do", err)
	}
	got, err := Recompute(w.Dir())
	if err != nil || len(got) != 1 || !got[0].OK {
		t.Errorf("after the full disk: %+v, %v; want the first request", got, err)
	}
}

// What a kill cut off at any byte is left out, and all before it is read.
func TestCutAnywhere(t *testing.T) {
	dir := t.TempDir()
	w, err := CreateStart(dir, 1, "")
	if err != nil {
		t.Fatal(err)
	}
	s := script("@1 "+content("a"), "@2 "+content("b"), "@3 "+fin+usage+done)
	var want []Request
	for id := range 3 {
		r := Request{ID: id}
		s.Fill(&r)
		if err := keep(w, &r, s); err != nil {
			t.Fatal(err)
		}
		want = append(want, r)
	}
	w.Close()
	path := filepath.Join(w.Dir(), StreamsFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n <= len(whole); n += 7 {
		if err := os.WriteFile(path, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Recompute(w.Dir()); err != nil {
			t.Fatalf("cut at byte %d: %v", n, err)
		}
	}
	if err := os.WriteFile(path, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := Recompute(w.Dir())
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("whole again: %v (-want +got):\n%s", err, diff)
	}
	whole[len(whole)/2] = '}'
	whole[len(whole)/2+1] = '\n'
	os.WriteFile(path, whole, 0o644)
	if _, err := Recompute(w.Dir()); err == nil || !strings.Contains(err.Error(), "offset") {
		t.Errorf("broken in the middle: got error %v, want one with the offset", err)
	}
}
