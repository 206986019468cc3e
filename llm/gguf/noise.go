package gguf

import (
	"encoding/binary"
	"hash/fnv"
	"math"
)

// noise is splitmix64: one addition and a mix a word, fast enough that the
// disk is what a large model waits for.
type noise uint64

func (n *noise) word() uint64 {
	*n += 0x9e3779b97f4a7c15
	z := uint64(*n)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// seeded begins the noise of one piece of one tensor, so that pieces can be
// made in any order.
func seeded(seed uint64, name string, at int64) noise {
	h := fnv.New64a()
	h.Write([]byte(name))
	n := noise(seed)
	n = noise(n.word() ^ h.Sum64())
	n = noise(n.word() ^ uint64(at))
	return noise(n.word())
}

// spread is random values of a tensor around mean: even over mean ± √3·sigma,
// and negated half the time if flip is set.
type spread struct {
	mean, sigma float32
	flip        bool
}

const levels = 1 << 12 // that an f32 or f16 value can take

func (s spread) table() []float32 {
	t := make([]float32, levels)
	for i := range t {
		// The conversion keeps the product from being fused with the sum, which
		// would make other bytes on other machines.
		t[i] = s.mean + float32(s.sigma*float32(math.Sqrt(3)*(float64(2*i+1)/levels-1)))
		if s.flip && i%2 == 1 {
			t[i] = -t[i]
		}
	}
	return t
}

// fill makes a Fill for a tensor of these values. The quantised types hold no
// mean: theirs must be 0.
func (s spread) fill(t Type, name string, seed uint64) Fill {
	switch t {
	case F32:
		table := s.table()
		return func(p []byte, at int64) error {
			rng := seeded(seed, name, at)
			for ; len(p) > 0; p = p[4:] {
				binary.LittleEndian.PutUint32(p, math.Float32bits(table[rng.word()%levels]))
			}
			return nil
		}
	case F16:
		table := make([]uint16, levels)
		for i, v := range s.table() {
			table[i] = half(v)
		}
		return func(p []byte, at int64) error {
			rng := seeded(seed, name, at)
			for len(p) > 0 {
				w := rng.word()
				for range min(5, len(p)/2) { // 5 times 12 bits in a word
					binary.LittleEndian.PutUint16(p, table[w%levels])
					p, w = p[2:], w/levels
				}
			}
			return nil
		}
	case Q8_0:
		return s.blocks(name, seed, 34, math.Sqrt(5461.25)) // of even -128 to 127
	case Q4_0:
		return s.blocks(name, seed, 18, math.Sqrt(21.25)) // of even -8 to 7
	}
	return nil
}

// blocks makes quantised blocks directly: a scale, and random bits behind it.
// The scale's sign is random, because the integers' mean is half below zero.
func (s spread) blocks(name string, seed uint64, size int, deviation float64) Fill {
	scale := half(s.sigma / float32(deviation))
	return func(p []byte, at int64) error {
		rng := seeded(seed, name, at)
		var signs uint64
		for i := 0; len(p) > 0; i++ {
			if i%64 == 0 {
				signs = rng.word()
			}
			binary.LittleEndian.PutUint16(p, scale|uint16(signs&1)<<15)
			signs >>= 1
			for q := p[2:size]; len(q) > 0; q = q[8:] {
				binary.LittleEndian.PutUint64(q, rng.word())
			}
			p = p[size:]
		}
		return nil
	}
}
