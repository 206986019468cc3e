package retrieval

import "math"

// Vectors lie on disk in halves: two bytes a number, rounded to the nearest
// even. Numbers too large for that become the largest there is.

const maxHalf = 65504

func toHalf(f float32) uint16 {
	bits := math.Float32bits(min(max(f, -maxHalf), maxHalf))
	sign := uint16(bits >> 16 & 0x8000)
	exp := int(bits>>23&0xff) - 127
	mantissa := bits&0x7fffff | 0x800000
	switch {
	case f != f:
		return 0 // no vector that anybody could use
	case exp < -25:
		return sign
	case exp < -14: // subnormal
		shift := uint(-14-exp) + 13
		return sign | uint16(round(mantissa, shift))
	}
	// The rounded mantissa may carry into the exponent, as it should.
	return sign | uint16(uint32(exp+14)<<10+round(mantissa, 13))
}

func round(m uint32, shift uint) uint32 {
	half := uint32(1) << (shift - 1)
	q, rest := m>>shift, m&(half<<1-1)
	if rest > half || rest == half && q&1 == 1 {
		q++
	}
	return q
}

func fromHalf(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, mantissa := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exp {
	case 0:
		f := float32(mantissa) / (1 << 24)
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1f: // infinite or no number; toHalf writes neither
		return 0
	}
	return math.Float32frombits(sign | (exp+112)<<23 | mantissa<<13)
}
