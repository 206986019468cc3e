package pdf

import (
	"bytes"
	"slices"

	"github.com/percached/percached/internal/base/fault"
)

// readXref follows the chain of cross-reference sections from the end of the file,
// newest first. It returns false if the chain does not lead to a root.
func (f *file) readXref() bool {
	// "startxref" is in the last lines, but some programs append to the file.
	tail := max(0, len(f.data)-4096)
	i := bytes.LastIndex(f.data[tail:], []byte("startxref"))
	if i < 0 {
		return false
	}
	l := lexer{data: f.data, pos: tail + i + len("startxref")}
	at, ok := l.token().(int)
	seen := map[int]bool{}
	for first := true; ok && !seen[at] && at >= 0 && at < len(f.data); first = false {
		seen[at] = true
		d := f.section(at)
		if d == nil {
			// A broken older section: the objects of newer sections are usable, but
			// only a search finds the others.
			return false
		}
		if first {
			f.trailer = d
		}
		for _, key := range []name{"Root", "Info", "Encrypt", "ID"} {
			if _, has := f.trailer[key]; !has && d[key] != nil {
				f.trailer[key] = d[key]
			}
		}
		at, ok = d["Prev"].(int)
	}
	return f.trailer["Root"] != nil
}

// section reads one table or stream with its trailer.
func (f *file) section(at int) dict {
	l := lexer{data: f.data, pos: at}
	if l.token() != word("xref") {
		return f.xrefStream(at)
	}
	p := f.parser(f.data, l.pos)
	table := p.pos
	if !f.table(p, func(int, entry) {}) {
		return nil
	}
	v, ok := p.value()
	d, isDict := v.(dict)
	if !ok || !isDict {
		f.noteSpent()
		return nil
	}
	// In a hybrid file, objects that old readers must not see are free in the table and
	// listed in this stream: read it first.
	if hidden, ok := d["XRefStm"].(int); ok && hidden > 0 && hidden < len(f.data) {
		f.xrefStream(hidden)
	}
	p.pos = table
	f.table(p, f.enter)
	return d
}

// enter records the place of an object, unless a newer section did.
func (f *file) enter(num int, e entry) {
	if _, has := f.xref[num]; has || num < 0 || num > 1<<23 {
		return
	}
	if len(f.xref) >= maxObjects {
		f.budget.overLimit("more than %d objects", maxObjects)
		return
	}
	f.xref[num] = e
}

// table reads the subsections of a table up to the word "trailer".
func (f *file) table(p *parser, enter func(num int, e entry)) bool {
	for f.budget.err == nil {
		t := p.token()
		if t == word("trailer") {
			return true
		}
		start, ok1 := t.(int)
		count, ok2 := p.token().(int)
		if !ok1 || !ok2 || start < 0 || count < 0 {
			return false
		}
		for i := range count {
			back := p.pos
			at, isInt := p.token().(int)
			if !isInt { // fewer entries than announced
				p.pos = back
				break
			}
			_, isGen := p.token().(int)
			kind, isWord := p.token().(word)
			if !isGen || !isWord || kind != "n" && kind != "f" {
				return false
			}
			enter(start+i, entry{at: at, free: kind == "f"})
		}
	}
	return false
}

// xrefStream reads a section that is a stream.
func (f *file) xrefStream(at int) dict {
	_, v, _, ok := f.object(at)
	s, isStream := v.(*stream)
	if !ok || !isStream || s.dict["Type"] != name("XRef") {
		return nil
	}
	w := f.array(s.dict["W"])
	if len(w) < 3 {
		return nil
	}
	var width [3]int
	for i := range width {
		width[i] = f.int(w[i], 0)
		if width[i] < 0 || width[i] > 8 {
			return nil
		}
	}
	row := width[0] + width[1] + width[2]
	if row == 0 {
		return nil
	}
	index := f.array(s.dict["Index"])
	if len(index) < 2 {
		index = array{0, f.int(s.dict["Size"], 0)}
	}
	data := f.decode(s)
	for i := 0; i+1 < len(index); i += 2 {
		start, count := f.int(index[i], 0), f.int(index[i+1], 0)
		for j := 0; j < count && len(data) >= row && f.budget.err == nil; j++ {
			f.enterRow(start+j, data[:row], width)
			data = data[row:]
		}
	}
	return s.dict
}

// enterRow records one row of a cross-reference stream.
func (f *file) enterRow(num int, row []byte, width [3]int) {
	field := func(i, other int) int {
		if width[i] == 0 {
			return other
		}
		v := 0
		for _, c := range row[:width[i]] {
			v = v<<8 | int(c)
		}
		row = row[width[i]:]
		return v
	}
	kind := field(0, 1)
	second, third := field(1, 0), field(2, 0)
	switch kind {
	case 0:
		f.enter(num, entry{free: true})
	case 1:
		f.enter(num, entry{at: second})
	case 2:
		f.enter(num, entry{packed: true, at: second, index: third})
	}
}

// rebuild makes a new cross-reference table from the content of the file. The last
// definition of an object wins.
func (f *file) rebuild() error {
	f.reset()
	var order []int
	f.xref, order = f.scan()
	f.found = f.xref
	f.trailers()
	if err := f.unlock(); err != nil {
		return err
	}
	f.unpackAll(order)
	if f.catalog() == nil {
		f.trailer["Root"] = f.findCatalog()
	}
	switch {
	case f.budget.err != nil:
		return f.budget.err
	case f.catalog() == nil && len(f.loosePages(0)) == 0:
		return fault.New(fault.Invalid, "pdf.open", "the file is damaged: it has no list of pages")
	}
	return nil
}

// scan finds "N G obj" in the whole file. It also returns the numbers in the order of
// their last definitions.
func (f *file) scan() (map[int]entry, []int) {
	entries := map[int]entry{}
	var order []int
	key := []byte("obj")
	for at := 0; ; {
		i := bytes.Index(f.data[at:], key)
		if i < 0 {
			break
		}
		at += i + len(key)
		num, start, ok := f.headBefore(at - len(key))
		if !ok {
			continue
		}
		if len(entries) >= maxObjects {
			f.budget.overLimit("more than %d objects", maxObjects)
			break
		}
		entries[num] = entry{at: start}
		order = append(order, num)
	}
	slices.SortFunc(order, func(a, b int) int { return entries[a].at - entries[b].at })
	return entries, slices.Compact(order)
}

// headBefore reads the object number before the keyword at pos.
func (f *file) headBefore(pos int) (num, start int, ok bool) {
	back := func(is func(byte) bool, most int) int {
		n := 0
		for pos > 0 && n < most && is(f.data[pos-1]) {
			pos--
			n++
		}
		return n
	}
	back(space, 8)
	if back(digit, 6) == 0 || back(space, 8) == 0 || back(digit, 8) == 0 {
		return 0, 0, false
	}
	l := lexer{data: f.data, pos: pos}
	num, ok = l.token().(int)
	return num, pos, ok
}

// trailers collects the entries of all trailers and cross-reference streams. Later ones
// win.
func (f *file) trailers() {
	merge := func(d dict) {
		for _, key := range []name{"Root", "Info", "Encrypt", "ID"} {
			if d[key] != nil {
				f.trailer[key] = d[key]
			}
		}
	}
	for at := 0; ; {
		i := bytes.Index(f.data[at:], []byte("trailer"))
		if i < 0 {
			break
		}
		at += i + len("trailer")
		p := f.parser(f.data, at)
		v, _ := p.value()
		if d, ok := v.(dict); ok {
			merge(d)
		}
	}
	for at := 0; ; {
		i := bytes.Index(f.data[at:], []byte("/XRef"))
		if i < 0 {
			break
		}
		at += i + len("/XRef")
		// The dictionary begins before; the head of its object is the last one before
		// that.
		from := bytes.LastIndex(f.data[max(0, at-1024):at], []byte("obj"))
		if from < 0 {
			continue
		}
		p := f.parser(f.data, max(0, at-1024)+from+len("obj"))
		v, _ := p.value()
		if d, ok := v.(dict); ok && d["Type"] == name("XRef") {
			merge(d)
		}
	}
	f.noteSpent()
}

// unpackAll records the objects in object streams, given all objects in order.
func (f *file) unpackAll(order []int) {
	for _, num := range order {
		at := f.xref[num].at
		if f.xref[num].packed || !bytes.Contains(f.data[at:min(len(f.data), at+512)], []byte("/ObjStm")) {
			continue
		}
		s, _ := f.load(num).(*stream)
		if s == nil || s.dict["Type"] != name("ObjStm") {
			continue
		}
		p := f.pack(num)
		if p == nil || f.budget.err != nil {
			continue
		}
		for i, inner := range p.numbers {
			old, has := f.xref[inner]
			if has && !old.packed && old.at > at || inner < 0 || inner == num || len(f.xref) >= maxObjects {
				continue
			}
			f.xref[inner] = entry{packed: true, at: num, index: i}
			delete(f.cache, inner)
		}
	}
}

// findCatalog finds a root if no trailer names one.
func (f *file) findCatalog() any {
	var best any
	numbers := make([]int, 0, len(f.xref))
	for num := range f.xref {
		numbers = append(numbers, num)
	}
	slices.Sort(numbers)
	for _, num := range numbers {
		d, _ := f.load(num).(dict)
		if d["Type"] == name("Catalog") && f.dict(d["Pages"]) != nil {
			best = ref{num: num}
		}
	}
	return best
}
