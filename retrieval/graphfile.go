package retrieval

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"

	"github.com/percached/percached"
)

const (
	graphMagic = "pcgraph\x01"
	graphHead  = len(graphMagic) + 8 + 4 + 4 + 4
	graphNode  = 16 + 8 + 1
)

func (sp *space) graphFile() string { return filepath.Join(sp.dir, "graph") }

// sum names the vectors that a graph is over.
func (g generation) sum() []byte {
	h := sha256.Sum256([]byte(g.Embedder))
	return h[:8]
}

// encodeGraph writes what FORMAT.md describes. Nodes are named by chunk, as
// slots are other ones after a restart.
func encodeGraph(v *vectors, of generation) []byte {
	g := v.graph
	number := make([]uint32, len(g.level))
	n := uint32(0)
	for s := range g.level {
		if g.level[s] >= 0 {
			number[s] = n
			n++
		}
	}
	b := append(make([]byte, 0, graphHead+int(n)*(graphNode+4*graphGround)), graphMagic...)
	b = append(b, of.sum()...)
	b = binary.LittleEndian.AppendUint32(b, of.Number)
	b = binary.LittleEndian.AppendUint32(b, n)
	b = binary.LittleEndian.AppendUint32(b, number[max(g.entry, 0)])
	for i, level := range g.level {
		if level < 0 {
			continue
		}
		b = append(b, v.ids[i][:]...)
		b = binary.LittleEndian.AppendUint64(b, v.versions[i])
		b = append(b, byte(level))
		for l := int8(0); l <= level; l++ {
			links := g.links(int32(i), l)
			b = append(b, byte(len(links)))
			for _, to := range links {
				b = binary.LittleEndian.AppendUint32(b, number[to])
			}
		}
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// decodeGraph reads a graph over the vectors in v. Nodes whose vector is no
// longer there, or another one, are left out.
func decodeGraph(b []byte, v *vectors, of generation) (*graph, error) {
	body := len(b) - crc32.Size
	if body < graphHead || string(b[:len(graphMagic)]) != graphMagic {
		return nil, errors.New("not a graph")
	}
	if crc32.ChecksumIEEE(b[:body]) != binary.LittleEndian.Uint32(b[body:]) {
		return nil, errors.New("the checksum is another")
	}
	r := &graphReader{b: b[len(graphMagic):body]}
	if string(r.bytes(8)) != string(of.sum()) || r.u32() != of.Number {
		return nil, errors.New("a graph of other vectors")
	}
	n, entry := int(r.u32()), r.u32()
	if n > len(r.b)/(graphNode+1) {
		return nil, errors.New("more nodes than bytes")
	}
	g, slots := newGraph(), make([]int32, 0, n)
	g.reach(int32(len(v.ids)) - 1)
	again := *r
	if err := r.nodes(n, func(id percached.ChunkID, version uint64, level int8) {
		s, ok := v.slots[id]
		if !ok || v.versions[s] != version || g.level[s] >= 0 {
			slots = append(slots, -1)
			return
		}
		slots = append(slots, s)
		g.level[s] = level
		g.nodes++
		if level > 0 {
			g.upper[s] = make([][]int32, level)
		}
	}, nil); err != nil {
		return nil, err
	}
	if len(r.b) > 0 {
		return nil, errors.New("bytes behind the end")
	}
	to := make([]int32, 0, graphGround)
	err := again.nodes(n, nil, func(node int, level int8, links []byte) error {
		to = to[:0]
		for ; len(links) > 0; links = links[4:] {
			t := binary.LittleEndian.Uint32(links)
			if int64(t) >= int64(n) {
				return errors.New("a link to nowhere")
			}
			if s := slots[t]; s >= 0 && g.level[s] >= level {
				to = append(to, s)
			}
		}
		if s := slots[node]; s >= 0 {
			g.setLinks(s, level, to)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return g, g.enter(slots, entry)
}

// enter finds where searches begin. A graph that has lost much is none.
func (g *graph) enter(slots []int32, entry uint32) error {
	if g.nodes == 0 || g.nodes < len(slots)-len(slots)/arrangeShare {
		return errors.New("too little of it is left")
	}
	top := slices.Max(g.level)
	g.entry = int32(slices.Index(g.level, top))
	if int64(entry) < int64(len(slots)) {
		if s := slots[entry]; s >= 0 && g.level[s] == top {
			g.entry = s
		}
	}
	return nil
}

// nodes goes over n nodes and their links.
func (r *graphReader) nodes(n int, node func(id percached.ChunkID, version uint64, level int8), links func(node int, level int8, to []byte) error) error {
	for i := range n {
		id, version, level := percached.ChunkID(r.bytes(16)), r.u64(), r.u8()
		if level > graphLevels {
			return errors.New("a level too high")
		}
		if node != nil {
			node(id, version, int8(level))
		}
		for l := range int8(level) + 1 {
			count := int(r.u8())
			if count > maxLinks(l) {
				return errors.New("too many links")
			}
			to := r.bytes(4 * count)
			if r.short {
				return errors.New("the end is missing")
			}
			if links != nil {
				if err := links(i, l, to); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// graphReader takes values off the front of b; behind the end they are zero.
type graphReader struct {
	b     []byte
	short bool
}

func (r *graphReader) bytes(n int) []byte {
	if len(r.b) < n {
		r.short, r.b = true, nil
		return make([]byte, n)
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *graphReader) u8() uint8   { return r.bytes(1)[0] }
func (r *graphReader) u32() uint32 { return binary.LittleEndian.Uint32(r.bytes(4)) }
func (r *graphReader) u64() uint64 { return binary.LittleEndian.Uint64(r.bytes(8)) }

// readGraph gives nil when there is none that can be used: all vectors are
// then compared, until the graph is made again.
func readGraph(path string, v *vectors, of generation) *graph {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	g, err := decodeGraph(b, v, of)
	if err != nil {
		return nil
	}
	return g
}
