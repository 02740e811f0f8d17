package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Guard is the number of readable bytes that must follow a matrix's packed data: kernels prefetch and load whole lines.
const Guard = 4096

// Matrix is a packed weight matrix. Data holds PackedBytes(Kind, Rows, Cols) bytes and is followed by Guard readable
// bytes of the same allocation (cap(Data) >= len(Data)+Guard).
type Matrix struct {
	Kind Kind
	Rows int // outputs
	Cols int // inputs
	Data []byte
}

// PackedBytes is the size of a packed matrix.
func PackedBytes(k Kind, rows, cols int) int {
	return ceil(rows, Panel) * ceil(cols, Chunk) * k.ChunkBytes()
}

// NewMatrix makes an all-zero matrix in mem, which must hold PackedBytes plus Guard bytes and be zeroed.
func NewMatrix(k Kind, rows, cols int, mem []byte) (*Matrix, error) {
	n := PackedBytes(k, rows, cols)
	if rows < 1 || cols < 1 || (k.Integer() && cols%32 != 0) {
		return nil, fmt.Errorf("matrix %dx%d of %s: need at least one row, and columns in whole blocks of 32", rows, cols, k)
	}
	if len(mem) < n+Guard {
		return nil, fmt.Errorf("matrix %dx%d of %s: %d bytes of memory, need %d", rows, cols, k, len(mem), n+Guard)
	}
	return &Matrix{Kind: k, Rows: rows, Cols: cols, Data: mem[:n:len(mem)]}, nil
}

// Panels is the number of panels of 16 rows; the last may be padded.
func (m *Matrix) Panels() int { return ceil(m.Rows, Panel) }

// Chunks is the number of chunks of 64 columns; the last may be padded.
func (m *Matrix) Chunks() int { return ceil(m.Cols, Chunk) }

func (m *Matrix) panelBytes() int { return m.Chunks() * m.Kind.ChunkBytes() }

// Pack fills row r from its bytes in a GGUF file (Kind.RowBytes long). Rows of different panels may be packed at once.
func (m *Matrix) Pack(r int, src []byte) {
	if len(src) != m.Kind.RowBytes(m.Cols) {
		panic(fmt.Sprintf("kernel: row of %d bytes for %d columns of %s", len(src), m.Cols, m.Kind))
	}
	panel, lane := m.Data[r/Panel*m.panelBytes():], r%Panel
	switch m.Kind {
	case F32:
		for c := 0; c < m.Cols; c++ {
			copy(panel[(c*Panel+lane)*4:][:4], src[c*4:])
		}
	case F16:
		for c := 0; c < m.Cols; c++ {
			copy(panel[(c*Panel+lane)*2:][:2], src[c*2:])
		}
	case Q8_0:
		for b := 0; b < m.Cols/32; b++ {
			packQ8(panel[b/2*1088:], b%2, lane, src[b*34:])
		}
	case Q4_1:
		for b := 0; b < m.Cols/32; b++ {
			packNibbles(panel[b/2*640:], b%2, lane, src[b*20+4:])
			copy(panel[b/2*640+512+b%2*32+lane*2:][:2], src[b*20:])
			copy(panel[b/2*640+576+b%2*32+lane*2:][:2], src[b*20+2:])
		}
	case Q4_0:
		for b := 0; b < m.Cols/32; b++ {
			packNibbles(panel[b/2*576:], b%2, lane, src[b*18+2:])
			copy(panel[b/2*576+512+b%2*32+lane*2:][:2], src[b*18:])
		}
	case BF16:
		for c := 0; c < m.Cols; c++ {
			copy(panel[c/2*64+lane*4+c%2*2:][:2], src[c*2:])
		}
	}
}

// PackFloats fills row r of an F32 matrix.
func (m *Matrix) PackFloats(r int, src []float32) {
	panel := m.Data[r/Panel*m.panelBytes()+r%Panel*4:]
	for c, v := range src[:m.Cols] {
		binary.LittleEndian.PutUint32(panel[c*Panel*4:], math.Float32bits(v))
	}
}

// packQ8 places a block {scale, 32 int8} as half b of a chunk.
func packQ8(chunk []byte, b, lane int, blk []byte) {
	for j := 0; j < 32; j++ {
		chunk[(b*8+j/4)*64+lane*4+j%4] = blk[2+j] ^ 0x80
	}
	copy(chunk[1024+b*32+lane*2:][:2], blk[:2])
}

// packNibbles places the 16 bytes of a block (column j low, j+16 high) in half b of a chunk.
func packNibbles(chunk []byte, b, lane int, nibbles []byte) {
	for j := 0; j < 16; j += 4 {
		copy(chunk[(b*4+j/4)*64+lane*4:][:4], nibbles[j:])
	}
}

// Row dequantises row r into dst (Cols long): the embedding of a token when the head is tied.
func (m *Matrix) Row(r int, dst []float32) {
	panel, lane := m.Data[r/Panel*m.panelBytes():], r%Panel
	half := func(at int) float32 { return halfToFloat(binary.LittleEndian.Uint16(panel[at:])) }
	for c := range dst[:m.Cols] {
		chunk, k := c/Chunk*m.Kind.ChunkBytes(), c%Chunk
		b, j := k/32, k%32
		switch m.Kind {
		case F32:
			dst[c] = math.Float32frombits(binary.LittleEndian.Uint32(panel[(c*Panel+lane)*4:]))
		case F16:
			dst[c] = half((c*Panel + lane) * 2)
		case Q8_0:
			q := int(panel[chunk+k/4*64+lane*4+k%4]) - 128
			dst[c] = float32(q) * half(chunk+1024+b*32+lane*2)
		case Q4_1:
			q := panel[chunk+(b*4+j%16/4)*64+lane*4+j%4] >> (j / 16 * 4) & 15
			dst[c] = float32(float32(q)*half(chunk+512+b*32+lane*2)) + half(chunk+576+b*32+lane*2)
		case Q4_0:
			q := panel[chunk+(b*4+j%16/4)*64+lane*4+j%4] >> (j / 16 * 4) & 15
			dst[c] = (float32(q) - 8) * half(chunk+512+b*32+lane*2)
		case BF16:
			dst[c] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(panel[c/2*64+lane*4+c%2*2:])) << 16)
		}
	}
}
