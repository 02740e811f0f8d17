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
	panel, lane := m.Data[r/Panel*m.panelBytes():][:m.panelBytes()], r%Panel
	switch m.Kind {
	case F32:
		for c := range m.Cols {
			binary.LittleEndian.PutUint32(panel[(c*Panel+lane)*4:], binary.LittleEndian.Uint32(src[c*4:]))
		}
	case F16:
		for c := range m.Cols {
			binary.LittleEndian.PutUint16(panel[(c*Panel+lane)*2:], binary.LittleEndian.Uint16(src[c*2:]))
		}
	case BF16:
		for c := range m.Cols {
			binary.LittleEndian.PutUint16(panel[c/2*64+lane*4+c%2*2:], binary.LittleEndian.Uint16(src[c*2:]))
		}
	default:
		size, chunkSize := m.Kind.RowBytes(32), m.Kind.ChunkBytes()
		for b := range m.Cols / 32 {
			m.Kind.packBlock(panel[b/2*chunkSize:][:chunkSize], b%2, lane, src[b*size:][:size])
		}
	}
}

// packBlock places a block of 32 columns as half b of a chunk: a scale, Q4_1's minimum, then 32 int8 or 16 bytes of
// nibbles (column j low, j+16 high).
func (k Kind) packBlock(chunk []byte, b, lane int, blk []byte) {
	if k == Q8_0 {
		binary.LittleEndian.PutUint16(chunk[1024+b*32+lane*2:], binary.LittleEndian.Uint16(blk))
		for j := 0; j < 32; j += 4 {
			binary.LittleEndian.PutUint32(chunk[(b*8+j/4)*64+lane*4:], binary.LittleEndian.Uint32(blk[2+j:])^0x80808080)
		}
		return
	}
	binary.LittleEndian.PutUint16(chunk[512+b*32+lane*2:], binary.LittleEndian.Uint16(blk))
	quants := blk[2:]
	if k == Q4_1 {
		binary.LittleEndian.PutUint16(chunk[576+b*32+lane*2:], binary.LittleEndian.Uint16(quants))
		quants = blk[4:]
	}
	for j := 0; j < 16; j += 4 {
		binary.LittleEndian.PutUint32(chunk[(b*4+j/4)*64+lane*4:], binary.LittleEndian.Uint32(quants[j:]))
	}
}

// PackFloats fills row r of an F32 matrix.
func (m *Matrix) PackFloats(r int, src []float32) {
	if m.Kind != F32 {
		panic("kernel: PackFloats: the matrix is of kind " + m.Kind.String() + ", not f32")
	}
	panel := m.Data[r/Panel*m.panelBytes()+r%Panel*4:]
	for c, v := range src[:m.Cols] {
		binary.LittleEndian.PutUint32(panel[c*Panel*4:], math.Float32bits(v))
	}
}

// Row dequantises row r into dst (Cols long): the embedding of a token when the head is tied. A product of quant and
// scale is rounded before Q4_1's minimum is added.
func (m *Matrix) Row(r int, dst []float32) {
	panel, lane := m.Data[r/Panel*m.panelBytes():][:m.panelBytes()], r%Panel
	dst = dst[:m.Cols]
	switch m.Kind {
	case F32:
		for c := range dst {
			dst[c] = math.Float32frombits(binary.LittleEndian.Uint32(panel[(c*Panel+lane)*4:]))
		}
	case F16:
		for c := range dst {
			dst[c] = halfToFloat(binary.LittleEndian.Uint16(panel[(c*Panel+lane)*2:]))
		}
	case BF16:
		for c := range dst {
			dst[c] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(panel[c/2*64+lane*4+c%2*2:])) << 16)
		}
	default:
		size := m.Kind.ChunkBytes()
		for b := range m.Cols / 32 {
			m.Kind.unpackBlock(panel[b/2*size:][:size], b%2, lane, dst[b*32:][:32])
		}
	}
}

// unpackBlock is the inverse of packBlock, as floats.
func (k Kind) unpackBlock(chunk []byte, b, lane int, dst []float32) {
	if k == Q8_0 {
		scale := halfToFloat(binary.LittleEndian.Uint16(chunk[1024+b*32+lane*2:]))
		for j := 0; j < 32; j += 4 {
			q := binary.LittleEndian.Uint32(chunk[(b*8+j/4)*64+lane*4:]) ^ 0x80808080
			for i := range 4 {
				dst[j+i] = float32(int8(q>>(8*i))) * scale
			}
		}
		return
	}
	scale := halfToFloat(binary.LittleEndian.Uint16(chunk[512+b*32+lane*2:]))
	zero, minimum := float32(8), float32(0)
	if k == Q4_1 {
		zero, minimum = 0, halfToFloat(binary.LittleEndian.Uint16(chunk[576+b*32+lane*2:]))
	}
	for j := 0; j < 16; j += 4 {
		q := binary.LittleEndian.Uint32(chunk[(b*4+j/4)*64+lane*4:])
		for i := range 4 {
			low, high := (float32(q>>(8*i)&15)-zero)*scale, (float32(q>>(8*i+4)&15)-zero)*scale
			if k == Q4_1 {
				low, high = float32(low)+minimum, float32(high)+minimum
			}
			dst[j+i], dst[j+16+i] = low, high
		}
	}
}
