package scheduler

import (
	"time"

	"github.com/percached/percached/internal/kv"
)

func encodeBook(key []byte, b *book) []byte {
	w := newWriter(key)
	w.text(b.name)
	w.u64(b.served)
	return w.seal()
}

func decodeBook(key, value []byte) (name string, served uint64, err error) {
	r, err := newReader(key, value)
	if err != nil {
		return "", 0, err
	}
	name, served = r.text(maxName), r.u64()
	if name == "" {
		r.bad = true
	}
	return name, served, r.end("a space")
}

// encodeJob leaves the space out: the key tells it.
func encodeJob(key []byte, j Job) []byte {
	w := newWriter(key)
	w.text(string(j.Kind))
	w.text(j.Subject)
	w.time(j.Added)
	w.time(j.From)
	w.int(int64(j.Attempts))
	var parked byte
	if j.Parked {
		parked = 1
	}
	w.byte(parked)
	w.text(j.Reason)
	return w.seal()
}

func decodeJob(key, value []byte) (Job, error) {
	r, err := newReader(key, value)
	if err != nil {
		return Job{}, err
	}
	j := Job{Kind: r.kind(), Subject: r.text(maxSubject), Added: r.time(), From: r.time(), Attempts: int(r.int())}
	parked := r.byte()
	if parked > 1 {
		r.bad = true
	}
	j.Parked, j.Reason = parked == 1, r.text(maxName)
	return j, r.end("a job")
}

func encodePage(key []byte, p *page) []byte {
	w := newWriter(key)
	n := 0
	for _, a := range p {
		if a != (account{}) {
			n++
		}
	}
	w.count(n)
	for i, a := range p {
		if a == (account{}) {
			continue
		}
		w.text(string(kinds[i]))
		for _, x := range a.numbers() {
			w.int(*x)
		}
		w.float(a.joules)
	}
	return w.seal()
}

func decodePage(key, value []byte) (*page, error) {
	r, err := newReader(key, value)
	if err != nil {
		return nil, err
	}
	p := &page{}
	for range r.count(len(kinds), 1) {
		k := r.kind()
		if r.bad || p[k.rank()] != (account{}) {
			r.bad = true
			break
		}
		a := &p[k.rank()]
		for _, x := range a.numbers() {
			*x = r.int()
		}
		a.joules = r.float()
	}
	return p, r.end("a day of the ledger")
}

func encodeCredit(key []byte, c *credit) []byte {
	w := newWriter(key)
	w.text(string(c.kind))
	w.int(int64(c.saves))
	return w.seal()
}

func decodeCredit(key, value []byte) (*credit, error) {
	r, err := newReader(key, value)
	if err != nil {
		return nil, err
	}
	c := &credit{kind: r.kind(), saves: time.Duration(r.int())}
	return c, r.end("a credit")
}

func encodeUsage(key []byte, u *usage) []byte {
	w := newWriter(key)
	w.time(u.start)
	w.int(int64(u.compute))
	w.int(int64(u.questions))
	w.int(u.written)
	w.count(len(u.asked))
	for space, n := range u.asked {
		w.raw(space[:])
		w.int(int64(n[0]))
		w.int(int64(n[1]))
	}
	return w.seal()
}

func decodeUsage(key, value []byte) (usage, error) {
	r, err := newReader(key, value)
	if err != nil {
		return usage{}, err
	}
	u := usage{start: r.time(), compute: time.Duration(r.int()), questions: int(r.int()), written: r.int()}
	for range r.count(1<<20, 32) {
		if u.asked == nil {
			u.asked = map[kv.SpaceID][2]int{}
		}
		var space kv.SpaceID
		copy(space[:], r.take(len(space)))
		u.asked[space] = [2]int{int(r.int()), int(r.int())}
	}
	return u, r.end("a window's budget")
}
