// Package kernel holds the arithmetic of the engine: packed weights, matrix products, and the small operations of a
// transformer layer, each once in plain Go (the definition) and in assembly for AVX2 and AVX-512 VNNI.
//
// Bits are part of the definition: every Set gives the same bits for the same operands. A row of a product depends on
// that row's activations and on the weights, never on how many rows, panels or threads take part. So floating-point
// sums have a fixed order: one fused multiply-add per column in column order (float weights), or one per block of 32
// columns in block order (integer weights, whose block sums are exact).
//
// # Layout
//
// A weight matrix of Rows x Cols is cut into panels of 16 rows and chunks of 64 columns (both padded with zeros). A
// panel's chunks follow each other; inside a chunk a 64-byte line holds 16 rows, so a vector lane is an output row and
// no kernel ever sums across lanes. See Kind for the lines of each form.
//
// # Products
//
// A float kind (F32, F16, BF16) multiplies fp32 activations: sum = fma(weight, x, sum), column by column. An integer kind
// rounds activations to int8 with one scale per block of 32 columns, in the block's own magnitude, and adds block by
// block
//
//	sum = fma(float(sum of w*a) * wscale, ascale, sum)
//	sum = fma(wmin, ascale * float(sum of a), sum)     Q4_1 only
//
// with the integer sums exact. Weights of Q8_0 are stored plus 128 and those of Q4_0 plus 8 because the instructions
// want an unsigned side; the sums start at minus that times the sum of the activations, which costs nothing.
//
// A caller packs activations once (PackActs: every thread the chunks of columns that it owns) and multiplies them by
// any number of matrices of the same kind (MatMul, MatMulGated: every thread a range of panels). Both want contiguous
// ranges, not interleaved ones.
//
// # Attention
//
// Keys and values lie in pages of 64 positions, per layer and key head: keys as four panels of 16 positions,
// [4][HeadDim][16], so element d of position p is k[(p/16*HeadDim+d)*16+p%16]; values as [HeadDim/16][64][16], so it is
// v[(d/16*64+p)*16+d%16]. A lane is then a position (scores) or an element (weighted sums), and both are products of float
// panels. Up to QueryRows queries that share a key head (the heads of its group, or nodes of a batch) are packed together
// and take: PackQuery and Scores page by page into one row of scores per query, indexed by absolute position; Softmax on
// each row; PackQuery of the rows; Weighted page by page, which goes on from what its output holds. Positions are always
// added in order, so it does not matter how many pages one call takes, and the end of a path that lies elsewhere (the
// side branches of a draft tree) may be gathered into a small page of its own and added last.
//
// The package does not know models, threads or memory management; a caller divides panels and chunks among threads.
package kernel

// Panel is the number of rows of a panel, Chunk the number of columns of a chunk.
const (
	Panel = 16
	Chunk = 64
)

// Kind is a packed weight form.
type Kind uint8

// The forms. Chunk sizes in bytes, per panel:
const (
	F32   Kind = iota // 4096: [column][16 rows] float32; fp32 activations
	F16               // 2048: [column][16 rows] half floats; fp32 activations
	Q8_0              // 1088: 16 lines [4 columns of 16 rows] of weight+128, then 2 x 16 half-float scales (one per 32 columns)
	Q4_1              // 640: 8 lines of nibbles (low: 4 columns, high: the 4 columns 16 further), 2 x 16 scales, 2 x 16 minima
	Q4_0              // 576: as Q4_1 without minima; weights are nibble-8
	BF16              // 2048: lines of column pairs [16 rows][2 columns] bfloat16; fp32 activations
	kinds             // how many there are
)

// String is the name used in files and tables.
func (k Kind) String() string {
	switch k {
	case F32:
		return "f32"
	case F16:
		return "f16"
	case Q8_0:
		return "q8_0"
	case Q4_1:
		return "q4_1"
	case Q4_0:
		return "q4_0"
	case BF16:
		return "bf16"
	}
	return "unknown"
}

// ChunkBytes is the packed size of one panel's chunk.
func (k Kind) ChunkBytes() int {
	switch k {
	case F16, BF16:
		return 2048
	case Q8_0:
		return 1088
	case Q4_1:
		return 640
	case Q4_0:
		return 576
	}
	return 4096
}

// RowBytes is the size of a row of cols columns in a GGUF file. Block types need cols to be a multiple of 32.
func (k Kind) RowBytes(cols int) int {
	switch k {
	case F16, BF16:
		return cols * 2
	case Q8_0:
		return cols / 32 * 34
	case Q4_1:
		return cols / 32 * 20
	case Q4_0:
		return cols / 32 * 18
	}
	return cols * 4
}

// unit is the number of columns that a kernel eats per step: activations are packed in such units.
func (k Kind) unit() int {
	if k.Integer() {
		return 64
	}
	return 16
}

// Integer reports whether the form multiplies int8 activations.
func (k Kind) Integer() bool { return k == Q8_0 || k == Q4_1 || k == Q4_0 }

func ceil(n, unit int) int { return (n + unit - 1) / unit }
