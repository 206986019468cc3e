package pdf

import (
	"bytes"
	"sort"

	"github.com/percached/percached/internal/base/fault"
)

// file is a PDF whose objects can be loaded.
type file struct {
	data    []byte
	budget  *budget
	xref    map[int]entry
	trailer dict
	crypt   *crypt // nil: not encrypted

	cache map[int]any
	busy  map[int]bool // being loaded now: asking again is a loop

	packs     map[int]*pack // decoded object streams by number
	packBytes int

	ends  []int // where "endstream" stands; nil until needed
	found map[int]entry
}

// entry is the place of an object.
type entry struct {
	packed bool
	at     int // its offset, or the number of the object stream
	index  int // its place in the object stream
	free   bool
}

// pack is a decoded object stream.
type pack struct {
	data    []byte
	numbers []int
	offsets []int
}

// maxPacks is how many bytes of decoded object streams are kept.
const maxPacks = 32 << 20

// open finds the objects of a file and repairs what it can.
func open(data []byte, b *budget) (*file, error) {
	// Offsets count from the header; mail programs put lines before it.
	head := bytes.Index(data[:min(len(data), 1024)], []byte("%PDF-"))
	if head < 0 && !bytes.Contains(data, []byte(" obj")) {
		return nil, fault.New(fault.Invalid, "pdf.open", "not a PDF file")
	}
	f := &file{data: data[max(head, 0):], budget: b}
	f.reset()
	if f.readXref() {
		if err := f.unlock(); err != nil {
			return nil, err
		}
		if f.catalog() != nil {
			return f, nil
		}
	}
	if err := f.rebuild(); err != nil {
		return nil, err
	}
	return f, nil
}

// reset forgets what was read, except the budget.
func (f *file) reset() {
	f.xref, f.trailer, f.crypt = map[int]entry{}, dict{}, nil
	f.cache, f.busy = map[int]any{}, map[int]bool{}
	f.packs, f.packBytes = map[int]*pack{}, 0
}

// catalog is the root of the document, nil if it has no pages.
func (f *file) catalog() dict {
	root := f.dict(f.trailer["Root"])
	if f.dict(root["Pages"]) == nil {
		return nil
	}
	return root
}

// resolve follows references to a value; to null if they lead nowhere.
func (f *file) resolve(v any) any {
	for range 32 {
		r, ok := v.(ref)
		if !ok {
			return v
		}
		v = f.load(r.num)
	}
	return nil
}

// load returns the object with this number, null if there is none.
func (f *file) load(num int) any {
	if v, ok := f.cache[num]; ok {
		return v
	}
	e, ok := f.xref[num]
	if !ok || e.free || f.busy[num] || f.budget.err != nil {
		return nil
	}
	f.busy[num] = true
	defer delete(f.busy, num)
	v, ok := f.fetch(num, e)
	if !ok {
		// The table is wrong here. Its other entries may be right, and better than what
		// a search finds.
		if f.found == nil {
			f.found, _ = f.scan()
		}
		if e, ok := f.found[num]; ok {
			v, _ = f.fetch(num, e)
		}
	}
	f.cache[num] = v
	return v
}

func (f *file) fetch(num int, e entry) (any, bool) {
	if e.packed {
		return f.unpack(num, e)
	}
	id, v, _, ok := f.object(e.at)
	return v, ok && id.num == num
}

func (f *file) parser(data []byte, at int) *parser {
	return &parser{lexer: lexer{data: data, pos: at}, refs: true, left: &f.budget.values}
}

// noteSpent records that no values are left.
func (f *file) noteSpent() {
	if f.budget.values <= 0 {
		f.budget.overLimit("more than %d values", maxValues)
	}
}

// object reads "N G obj ..." at an offset, and returns where it ends.
func (f *file) object(at int) (id ref, v any, to int, ok bool) {
	if at < 0 || at >= len(f.data) {
		return id, nil, 0, false
	}
	p := f.parser(f.data, at)
	num, ok1 := p.next().(int)
	gen, ok2 := p.next().(int)
	if !ok1 || !ok2 || p.next() != word("obj") {
		f.noteSpent()
		return id, nil, 0, false
	}
	id = ref{num, gen}
	v, ok = p.value()
	if !ok {
		f.noteSpent()
		return id, nil, 0, false
	}
	switch x := v.(type) {
	case word: // "endobj", or damage
		v = nil
	case dict:
		back := p.pos
		if p.next() == word("stream") {
			s := &stream{dict: x, id: id}
			s.raw, p.pos = f.extent(x, p.pos)
			v = s
		} else {
			p.pos = back
		}
	}
	if f.crypt != nil {
		v = f.crypt.decryptStrings(v, id)
	}
	return id, v, p.pos, true
}

// extent finds a stream's bytes, which begin behind the keyword at pos.
func (f *file) extent(d dict, pos int) ([]byte, int) {
	if pos < len(f.data) && f.data[pos] == '\r' {
		pos++
	}
	if pos < len(f.data) && f.data[pos] == '\n' {
		pos++
	}
	if n := f.int(d["Length"], -1); n >= 0 && n <= len(f.data)-pos {
		l := lexer{data: f.data[:min(len(f.data), pos+n+64)], pos: pos + n}
		if l.token() == word("endstream") {
			return f.data[pos : pos+n], l.pos
		}
	}
	to := f.endstream(pos)
	raw := f.data[pos:to]
	// The line end before the keyword is not part of the data.
	raw = bytes.TrimSuffix(raw, []byte("\n"))
	return bytes.TrimSuffix(raw, []byte("\r")), to
}

// endstream finds the next such keyword, or the end of the file. It lists all of them
// once, so that a file full of streams without ends costs one search.
func (f *file) endstream(from int) int {
	if f.ends == nil {
		f.ends = []int{}
		for at := 0; ; {
			i := bytes.Index(f.data[at:], []byte("endstream"))
			if i < 0 {
				break
			}
			f.ends = append(f.ends, at+i)
			at += i + len("endstream")
		}
	}
	if i := sort.SearchInts(f.ends, from); i < len(f.ends) {
		return f.ends[i]
	}
	return len(f.data)
}

// unpack reads an object from an object stream.
func (f *file) unpack(num int, e entry) (any, bool) {
	p := f.pack(e.at)
	if p == nil {
		return nil, false
	}
	i := e.index
	if i < 0 || i >= len(p.numbers) || p.numbers[i] != num {
		if !f.budget.spendSteps(len(p.numbers) / perStep) {
			return nil, false
		}
		for i = len(p.numbers) - 1; i >= 0 && p.numbers[i] != num; i-- {
		}
	}
	if i < 0 || p.offsets[i] < 0 || p.offsets[i] > len(p.data) {
		return nil, false
	}
	v, ok := f.parser(p.data, p.offsets[i]).value()
	f.noteSpent()
	if _, bad := v.(word); bad || !ok {
		return nil, false
	}
	return v, true
}

// pack decodes the object stream with this number.
func (f *file) pack(num int) *pack {
	if p, ok := f.packs[num]; ok {
		return p
	}
	if e := f.xref[num]; e.packed { // not allowed, and it may be a loop
		return nil
	}
	s, _ := f.load(num).(*stream)
	if s == nil {
		return nil
	}
	p := &pack{data: f.decode(s)}
	first := f.int(s.dict["First"], 0)
	l := lexer{data: p.data}
	for range min(max(f.int(s.dict["N"], 0), 0), len(p.data)/2, maxObjects) {
		number, ok1 := l.token().(int)
		offset, ok2 := l.token().(int)
		if !ok1 || !ok2 {
			break
		}
		p.numbers = append(p.numbers, number)
		p.offsets = append(p.offsets, first+offset)
	}
	if f.packBytes += len(p.data); f.packBytes > maxPacks {
		clear(f.packs)
		f.packBytes = len(p.data)
	}
	f.packs[num] = p
	return p
}

// The objects of a PDF are Go values: nil, bool, int, float64, and these.
type (
	name  string
	str   string // a string's bytes, decrypted
	array []any
	dict  map[name]any
	ref   struct{ num, gen int }
	word  string // an operator or keyword, or a single delimiter
)

// stream is a dictionary and its bytes, still encoded.
type stream struct {
	dict dict
	raw  []byte
	id   ref
}

// number converts an int or float64 to a float64; other values are 0.
func number(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// The getters below look up an entry and follow references. For values of another type
// they return the zero value.

func (f *file) dict(v any) dict {
	switch v := f.resolve(v).(type) {
	case dict:
		return v
	case *stream:
		return v.dict
	}
	return nil
}

func (f *file) array(v any) array {
	a, _ := f.resolve(v).(array)
	return a
}

func (f *file) name(v any) name {
	n, _ := f.resolve(v).(name)
	return n
}

func (f *file) stream(v any) *stream {
	s, _ := f.resolve(v).(*stream)
	return s
}

func (f *file) str(v any) str {
	s, _ := f.resolve(v).(str)
	return s
}

func (f *file) number(v any) float64 { return number(f.resolve(v)) }

// int returns a whole number, or other if there is none.
func (f *file) int(v any, other int) int {
	switch v := f.resolve(v).(type) {
	case int:
		return v
	case float64:
		if v > -1e9 && v < 1e9 {
			return int(v)
		}
	}
	return other
}
