package gguf

import "encoding/binary"

// builder writes GGUF files for tests, right and wrong ones.
type builder struct{ b []byte }

func newFile(version uint32, tensors, keys uint64) *builder {
	w := &builder{b: []byte("GGUF")}
	return w.u32(version).u64(tensors).u64(keys)
}

func (w *builder) u8(v byte) *builder    { w.b = append(w.b, v); return w }
func (w *builder) u32(v uint32) *builder { w.b = binary.LittleEndian.AppendUint32(w.b, v); return w }

func (w *builder) u64(v uint64) *builder { w.b = binary.LittleEndian.AppendUint64(w.b, v); return w }
func (w *builder) raw(s string) *builder { w.b = append(w.b, s...); return w }
func (w *builder) str(s string) *builder { return w.u64(uint64(len(s))).raw(s) }

// key starts a pair; the value follows.
func (w *builder) key(name string, k kind) *builder { return w.str(name).u32(uint32(k)) }

func (w *builder) array(elem kind, count uint64) *builder { return w.u32(uint32(elem)).u64(count) }

func (w *builder) tensor(name string, t Type, offset uint64, dims ...uint64) *builder {
	w.str(name).u32(uint32(len(dims)))
	for _, d := range dims {
		w.u64(d)
	}
	return w.u32(uint32(t)).u64(offset)
}

// pad fills up to a multiple of n.
func (w *builder) pad(n int) *builder {
	for len(w.b)%n != 0 {
		w.b = append(w.b, 0)
	}
	return w
}
