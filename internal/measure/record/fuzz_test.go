package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Whatever a server sends, Fill gives a verdict with a reason, and the cut of the reads changes no figure but stamps.
func FuzzFill(f *testing.F) {
	for _, s := range []string{
		content("a") + content("b") + fin + usage + done,
		role + content("a") + data(`{"error":{"message":"boom"}}`) + done,
		"data: {\"choices\":[{\"delta\":{}}]" + running(1) + "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]" + running(9) + fin,
		data(`{"choices":[{"index":-3,"text":"x","finish_reason":"length","token_ids":[1,2]}],"usage":{"completion_tokens":-5}}`),
		data(`{"content":"x","tokens":[1],"stop":true}`), "event: error\ndata: x\n\n", "<html>", `{"choices":[]}`, "data: {", "",
	} {
		f.Add([]byte(s), uint8(3), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, cut uint8, events bool) {
		s := Stream{Status: 200, End: EndEOF, Body: body, EndAt: 9}
		if events {
			s.ContentType = "text/event-stream"
		}
		whole, pieces := s, s
		whole.Reads = []Read{{At: 5, N: len(body)}}
		for at := 0; at < len(body); at += int(cut)%17 + 1 {
			pieces.Reads = append(pieces.Reads, Read{At: 5, N: min(int(cut)%17+1, len(body)-at)})
		}
		if len(body) == 0 {
			pieces.Reads = whole.Reads
		}
		var a, b Request
		whole.Fill(&a)
		pieces.Fill(&b)
		if a.OK == (a.ErrorClass != "") || a.OK == (a.Error != "") {
			t.Errorf("ok %v with class %q and error %q", a.OK, a.ErrorClass, a.Error)
		}
		same := cmp.Options{cmpopts.IgnoreFields(Event{}, "Read"), cmpopts.IgnoreFields(Request{}, "Error")}
		if diff := cmp.Diff(a, b, same); diff != "" {
			t.Errorf("the cut of the reads changed the request (-whole +cut):\n%s", diff)
		}
		a.Arrivals()
	})
}

// Whatever is in the files of a start, reading them gives requests or an error with a place, and no more memory than
// the files have bytes.
func FuzzRecord(f *testing.F) {
	whole := `{"id":1,"prompt":"a"}` + "\n"
	f.Add([]byte(whole), []byte(`{"id":1,"stream":{"status":200,"content_type":"text/event-stream"}}`+"\n\n"+`{"id":1,"reads":[[5,14]]}`+"\n"+done+"\n"+`{"id":1,"stream":{"end":"eof","end_at":9}}`+"\n\n"))
	f.Add([]byte(whole+`{"id":2`), []byte(`{"id":1,"reads":[[5,1000000000000]]}`+"\n"))
	f.Add([]byte("{}\n{}\n"), []byte(`{"id":1,"reads":[[5,-7],[6,7]]}`+"\n\n"))
	f.Add([]byte("\n"), []byte("\n\n\n"))
	f.Add([]byte(whole), []byte(`{"id":1,"stream":{"status":200,"content_type":"text/event-stream"}}`+"\n\n"+`{"id":1,"reads":[[5,9223372036854775807],[6,9223372036854775807],[7,10]]}`+"\n12345678\n"))
	f.Fuzz(func(t *testing.T, lines, streams []byte) {
		dir := t.TempDir()
		for name, b := range map[string][]byte{RequestsFile: lines, StreamsFile: streams} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		requests, err := Recompute(dir)
		if err != nil && !strings.Contains(err.Error(), ":") {
			t.Errorf("error without a place: %v", err)
		}
		for i := range requests {
			requests[i].OutputTokens()
		}
	})
}
