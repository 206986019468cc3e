package retrieval

import "math"

// dot is the scalar product of vectors of the same length. Eight sums run
// beside each other, because one addition must not wait for the one before; the
// order of the additions is fixed, so that equal input gives equal output.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	b = b[:len(a)]
	for len(a) >= 8 && len(b) >= 8 {
		x, y := (*[8]float32)(a), (*[8]float32)(b)
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		s4 += x[4] * y[4]
		s5 += x[5] * y[5]
		s6 += x[6] * y[6]
		s7 += x[7] * y[7]
		a, b = a[8:], b[8:]
	}
	for i, x := range a {
		s0 += x * b[i]
	}
	return ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7))
}

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
