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

// fromHalf moves the bits to where a 32-bit float has them, and makes good that its
// exponent counts from 112 further down. That is exact for subnormals, too.
func fromHalf(h uint16) float32 {
	return math.Float32frombits(uint32(h&0x8000)<<16|uint32(h&0x7fff)<<13) * 0x1p112
}

func toHalves(v []float32) []uint16 {
	out := make([]uint16, len(v))
	for i, x := range v {
		out[i] = toHalf(x)
	}
	return out
}

// fromHalves writes into to, which is as long as row.
func fromHalves(to []float32, row []uint16) {
	for i, h := range row {
		to[i] = fromHalf(h)
	}
}
