package pdf

import (
	"bytes"
	"slices"

	"github.com/percached/percached/internal/base/fault"
)

// rebuild makes the cross-reference table anew from what stands in the file.
// The last definition of an object wins.
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

// scan looks for "N G obj" all over the file. It also gives the numbers in the
// order of their last definitions.
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
			f.budget.exceed("more than %d objects", maxObjects)
			break
		}
		entries[num] = entry{at: start}
		order = append(order, num)
	}
	slices.SortFunc(order, func(a, b int) int { return entries[a].at - entries[b].at })
	return entries, slices.Compact(order)
}

// headBefore reads the object number that stands before the keyword at pos.
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

// trailers gathers the entries of all trailers and cross-reference streams,
// later ones over earlier ones.
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
		// The dictionary begins before; its object's head is the last one before.
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
	f.spent()
}

// unpackAll enters what lies in object streams, given all objects in order.
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

// findCatalog looks for a root where no trailer names one.
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
