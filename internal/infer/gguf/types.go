package gguf

import (
	"fmt"
	"slices"
)

// Type is a ggml tensor type, by its number in the file.
type Type uint32

// The types of ggml that exist today. Numbers that are missing were removed from the format.
const (
	F32     Type = 0
	F16     Type = 1
	Q4_0    Type = 2
	Q4_1    Type = 3
	Q5_0    Type = 6
	Q5_1    Type = 7
	Q8_0    Type = 8
	Q8_1    Type = 9
	Q2_K    Type = 10
	Q3_K    Type = 11
	Q4_K    Type = 12
	Q5_K    Type = 13
	Q6_K    Type = 14
	Q8_K    Type = 15
	IQ2_XXS Type = 16
	IQ2_XS  Type = 17
	IQ3_XXS Type = 18
	IQ1_S   Type = 19
	IQ4_NL  Type = 20
	IQ3_S   Type = 21
	IQ2_S   Type = 22
	IQ4_XS  Type = 23
	I8      Type = 24
	I16     Type = 25
	I32     Type = 26
	I64     Type = 27
	F64     Type = 28
	IQ1_M   Type = 29
	BF16    Type = 30
	TQ1_0   Type = 34
	TQ2_0   Type = 35
	MXFP4   Type = 39
	NVFP4   Type = 40
)

// layout is how a type lies in a file: blocks of so many values in so many bytes.
type layout struct {
	name          string
	values, bytes uint64
}

// layoutOf is a switch and not a table so that there is nothing to change at run time.
func layoutOf(t Type) (layout, bool) {
	switch t {
	case F32:
		return layout{"F32", 1, 4}, true
	case F16:
		return layout{"F16", 1, 2}, true
	case BF16:
		return layout{"BF16", 1, 2}, true
	case F64:
		return layout{"F64", 1, 8}, true
	case I8:
		return layout{"I8", 1, 1}, true
	case I16:
		return layout{"I16", 1, 2}, true
	case I32:
		return layout{"I32", 1, 4}, true
	case I64:
		return layout{"I64", 1, 8}, true
	case Q4_0:
		return layout{"Q4_0", 32, 18}, true
	case Q4_1:
		return layout{"Q4_1", 32, 20}, true
	case Q5_0:
		return layout{"Q5_0", 32, 22}, true
	case Q5_1:
		return layout{"Q5_1", 32, 24}, true
	case Q8_0:
		return layout{"Q8_0", 32, 34}, true
	case Q8_1:
		return layout{"Q8_1", 32, 36}, true
	case Q2_K:
		return layout{"Q2_K", 256, 84}, true
	case Q3_K:
		return layout{"Q3_K", 256, 110}, true
	case Q4_K:
		return layout{"Q4_K", 256, 144}, true
	case Q5_K:
		return layout{"Q5_K", 256, 176}, true
	case Q6_K:
		return layout{"Q6_K", 256, 210}, true
	case Q8_K:
		return layout{"Q8_K", 256, 292}, true
	case IQ1_S:
		return layout{"IQ1_S", 256, 50}, true
	case IQ1_M:
		return layout{"IQ1_M", 256, 56}, true
	case IQ2_XXS:
		return layout{"IQ2_XXS", 256, 66}, true
	case IQ2_XS:
		return layout{"IQ2_XS", 256, 74}, true
	case IQ2_S:
		return layout{"IQ2_S", 256, 82}, true
	case IQ3_XXS:
		return layout{"IQ3_XXS", 256, 98}, true
	case IQ3_S:
		return layout{"IQ3_S", 256, 110}, true
	case IQ4_NL:
		return layout{"IQ4_NL", 32, 18}, true
	case IQ4_XS:
		return layout{"IQ4_XS", 256, 136}, true
	case TQ1_0:
		return layout{"TQ1_0", 256, 54}, true
	case TQ2_0:
		return layout{"TQ2_0", 256, 66}, true
	case MXFP4:
		return layout{"MXFP4", 32, 17}, true
	case NVFP4:
		return layout{"NVFP4", 64, 36}, true
	}
	return layout{}, false
}

// String is ggml's name of the type, such as "Q4_1".
func (t Type) String() string {
	if l, ok := layoutOf(t); ok {
		return l.name
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// Known tells whether the type exists.
func (t Type) Known() bool {
	_, ok := layoutOf(t)
	return ok
}

// Block is the number of values and of bytes in one block of the type, 1 and the size of a value for plain numbers;
// zeros for an unknown type.
func (t Type) Block() (values, bytes int) {
	l, _ := layoutOf(t)
	return int(l.values), int(l.bytes)
}

// Types lists all known types by number.
func Types() []Type {
	var all []Type
	for t := range Type(64) {
		if t.Known() {
			all = append(all, t)
		}
	}
	return slices.Clip(all)
}
