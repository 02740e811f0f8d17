package kvcache

// Head is the memory of one (page, layer, head).
type Head struct {
	// K is four panels of 16 positions, each [HeadDim][16]: the element d of position p is K[(p/16*HeadDim+d)*16+p%16].
	K []float32
	// V is [HeadDim/16][64][16]: the element d of position p is V[(d/16*64+p)*16+d%16].
	V []float32
}

// PageHead is the memory of a layer and head in page number page of seq (positions page*64 to page*64+63).
func (c *Cache) PageHead(seq, page, layer, head int) Head {
	return c.head(c.seqs[seq].pages[page], layer, head)
}

// ScratchHead is the memory of a layer and head in page number page of the scratch slots (slots page*64 to page*64+63).
func (c *Cache) ScratchHead(page, layer, head int) Head {
	return c.head(c.scratch[page], layer, head)
}

func (c *Cache) head(page int32, layer, head int) Head {
	n := PageLen * c.shape.HeadDim
	at := int(page)*c.shape.PageFloats() + (layer*c.shape.KVHeads+head)*2*n
	return Head{K: c.mem[at : at+n : at+n], V: c.mem[at+n : at+2*n : at+2*n]}
}

// PutKey stores the key of slot (position modulo 64).
func (h Head) PutKey(slot int, key []float32) {
	k := h.K[slot/16*len(key)*16+slot%16:]
	for d, v := range key {
		k[d*16] = v
	}
}

// PutValue stores part of the value of slot: elements from d on. d and len(value) are multiples of 16.
func (h Head) PutValue(slot, d int, value []float32) {
	for i := 0; i < len(value); i += 16 {
		copy(h.V[((d+i)/16*PageLen+slot)*16:][:16], value[i:i+16])
	}
}

// Value copies the value of slot to dst, HeadDim long.
func (h Head) Value(slot int, dst []float32) {
	for i := 0; i < len(dst); i += 16 {
		copy(dst[i:i+16], h.V[(i/16*PageLen+slot)*16:])
	}
}

// Keep copies a scratch slot to position pos of seq, in all layers: a draft token on a side branch of a tree was
// accepted.
func (c *Cache) Keep(seq, pos, slot int) {
	hd := c.shape.HeadDim
	for layer := range c.shape.Layers {
		for head := range c.shape.KVHeads {
			from, to := c.ScratchHead(slot/PageLen, layer, head), c.PageHead(seq, pos/PageLen, layer, head)
			a, b := slot%PageLen, pos%PageLen
			kf, kt := from.K[a/16*hd*16+a%16:], to.K[b/16*hd*16+b%16:]
			for d := range hd {
				kt[d*16] = kf[d*16]
			}
			for d := 0; d < hd; d += 16 {
				copy(to.V[(d/16*PageLen+b)*16:][:16], from.V[(d/16*PageLen+a)*16:][:16])
			}
		}
	}
}
