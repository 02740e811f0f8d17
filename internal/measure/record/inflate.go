package record

import (
	"compress/gzip"
	"compress/zlib"
	"io"
)

// inflated is a stream whose body came compressed, as if it had not: what the bytes of one read yield has that read's
// stamp. An encoding that we do not know, or that is broken, is left as it is; its bytes will then be no events.
func (s *Stream) inflated() *Stream {
	out := *s
	out.Body, out.Reads = nil, nil
	in := &readWise{s: s}
	var r io.Reader
	var err error
	switch s.Encoding {
	case "gzip", "x-gzip":
		r, err = gzip.NewReader(in)
	case "deflate":
		r, err = zlib.NewReader(in)
	default:
		return s
	}
	if err != nil {
		return s
	}
	buf := make([]byte, 4<<10)
	for len(out.Body) < MaxBody {
		n, err := r.Read(buf)
		if n > 0 {
			out.Body = append(out.Body, buf[:n]...)
			out.add(Read{At: in.at, N: n})
		}
		if err != nil {
			break // a cut or broken body yields what came before
		}
	}
	return &out
}

// MaxBody is the largest body that is kept of one answer, in bytes.
const MaxBody = 256 << 20

// add counts bytes to the last read when it has the same stamp.
func (s *Stream) add(r Read) {
	if n := len(s.Reads); n > 0 && s.Reads[n-1].At == r.At {
		s.Reads[n-1].N += r.N
		return
	}
	s.Reads = append(s.Reads, r)
}

// readWise hands out a body byte by byte, so that a decompressor takes no more than it needs, and knows the stamp of
// the byte it handed out last.
type readWise struct {
	s    *Stream
	i, n int // read, and bytes of it handed out
	off  int
	at   int64
}

func (r *readWise) ReadByte() (byte, error) {
	for r.i < len(r.s.Reads) && r.n == r.s.Reads[r.i].N {
		r.i, r.n = r.i+1, 0
	}
	if r.i == len(r.s.Reads) || r.off == len(r.s.Body) {
		return 0, io.EOF
	}
	b := r.s.Body[r.off]
	r.at = r.s.Reads[r.i].At
	r.n++
	r.off++
	return b, nil
}

func (r *readWise) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	b, err := r.ReadByte()
	if err != nil {
		return 0, err
	}
	p[0] = b
	return 1, nil
}
