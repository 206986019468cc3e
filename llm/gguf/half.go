package gguf

import "math"

// half rounds to the nearest 16-bit float, ties to even.
func half(v float32) uint16 {
	b := math.Float32bits(v)
	sign := uint16(b >> 16 & 0x8000)
	exp := int(b>>23&0xff) - 127
	man := b & 0x7fffff
	switch {
	case exp == 128: // infinity, not a number
		if man != 0 {
			return sign | 0x7e00
		}
		return sign | 0x7c00
	case exp > 15:
		return sign | 0x7c00
	case exp >= -14:
		h := uint32(exp+15)<<10 | man>>13
		return sign | uint16(roundUp(h, man&0x1fff, 0x1000))
	case exp >= -25: // denormal
		man |= 0x800000
		shift := uint(-exp - 1)
		h := man >> shift
		return sign | uint16(roundUp(h, man&(1<<shift-1), 1<<(shift-1)))
	}
	return sign
}

func roundUp(h, rest, middle uint32) uint32 {
	if rest > middle || rest == middle && h&1 == 1 {
		h++
	}
	return h
}

// FromHalf is the value of a 16-bit float, exactly.
func FromHalf(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h >> 10 & 0x1f)
	man := uint32(h & 0x3ff)
	switch exp {
	case 0:
		v := float32(man) / (1 << 24)
		if sign != 0 {
			v = -v
		}
		return v
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}
