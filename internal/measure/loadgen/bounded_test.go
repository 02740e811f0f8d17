package loadgen

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"treeline/internal/measure/record"
)

// piped is a dialler of a server that reads a request and then answers by a function.
func piped(answer func(net.Conn)) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			if req, err := http.ReadRequest(bufio.NewReader(server)); err == nil {
				io.Copy(io.Discard, req.Body)
				answer(server)
			}
		}()
		return client, nil
	}
}

// slowDisk keeps nothing and takes its time.
type slowDisk struct {
	piece time.Duration
	bytes int
}

func (d *slowDisk) Begin(int, *record.Stream) error { return nil }

func (d *slowDisk) Piece(_ int, p record.Piece) error {
	time.Sleep(d.piece)
	d.bytes += len(p.Bytes)
	return nil
}

// Streams wait for a disk that cannot follow instead of filling the memory, and how long is known.
func TestSlowDiskIsCounted(t *testing.T) {
	for _, tt := range []struct {
		name  string
		piece time.Duration
		waits bool
	}{{"fast", 0, false}, {"slow", 100 * time.Millisecond, true}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const streams, size = 8, 4 << 20
				c := NewClient(ClientOptions{Base: "http://server", Dial: piped(func(conn net.Conn) {
					io.WriteString(conn, streamHead)
					for range size / 4096 {
						io.WriteString(conn, ":"+strings.Repeat(" ", 4094)+"\n")
						time.Sleep(time.Millisecond)
					}
				})})
				disk := &slowDisk{piece: tt.piece}
				err := Run(t.Context(), c, Plan{Concurrency: streams, Requests: streams, Job: numbered, Keep: disk}, func(*record.Request, *record.Stream) error { return nil })
				if err != nil || disk.bytes != streams*size {
					t.Errorf("kept %d bytes (%v), want %d", disk.bytes, err, streams*size)
				}
				if waited := c.Waited(); (waited > 0) != tt.waits {
					t.Errorf("waited %v, want that some did: %v", waited, tt.waits)
				}
			})
		})
	}
}

// What stays of a stream after it is kept on disk is its events, not its bytes: the bar of 300 MB for 1,000 streams of
// 4,096 events leaves 73 bytes an event.
func TestMemoryOfAStream(t *testing.T) {
	const streams, events = 16, 4096
	event := "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}],\"created\":1764590000,\"id\":\"chatcmpl-" +
		strings.Repeat("0", 80) + "\",\"model\":\"some-model\",\"object\":\"chat.completion.chunk\"}\n\n"
	c := NewClient(ClientOptions{Base: "http://server", Dial: piped(func(conn net.Conn) {
		io.WriteString(conn, streamHead)
		for range events / 16 {
			io.WriteString(conn, strings.Repeat(event, 16))
		}
	})})
	before := heap()
	var kept []record.Request
	disk := &slowDisk{}
	err := Run(context.Background(), c, Plan{Concurrency: streams, Requests: streams, Job: numbered, Keep: disk}, func(r *record.Request, _ *record.Stream) error {
		kept = append(kept, *r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	each := float64(heap()-before) / (streams * events)
	if len(kept) != streams || len(kept[0].Events) != events || each > 50 {
		t.Errorf("%d streams of %d events keep %.0f bytes an event, want at most 50; %d bytes an event came", len(kept), len(kept[0].Events), each, disk.bytes/streams/events)
	}
	t.Logf("%.0f bytes in memory for each event of %d bytes", each, len(event))
	runtime.KeepAlive(kept)
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // the pools are empty after the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
