package scheduler

import (
	"encoding/binary"
	"time"

	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

// The record types, the second byte of every key. See FORMAT.md.
const (
	ownByte    = 'S'
	spaceByte  = 's'
	queueByte  = 'q'
	pageByte   = 'l'
	creditByte = 'c'
	pauseByte  = 'p'
	budgetByte = 'b'
)

const restAt = 2 + len(kv.SpaceID{})

func recordKey(kind byte, space kv.SpaceID, rest ...byte) []byte {
	return append(append([]byte{ownByte, kind}, space[:]...), rest...)
}

func pageKey(space kv.SpaceID, d date) []byte {
	return binary.BigEndian.AppendUint32(recordKey(pageByte, space), uint32(d))
}

// splitKey splits a key that has n bytes after its space.
func splitKey(k []byte, n int) (space kv.SpaceID, rest []byte, ok bool) {
	if len(k) != restAt+n {
		return space, nil, false
	}
	return kv.SpaceID(k[2:restAt]), k[restAt:], true
}

// dateFrom decodes the day in a ledger key.
func dateFrom(tail []byte) date { return date(binary.BigEndian.Uint32(tail)) }

// formatVersion is the first byte of every value.
const formatVersion = 1

// pageVersion is that of a day of the ledger. Version 1 has no measured time.
const pageVersion = 2

// readKind reads and checks the name of a kind.
func readKind(r *sealed.Reader) Kind {
	k := Kind(r.Text(maxName))
	if k.rank() < 0 {
		r.Fail()
	}
	return k
}

func encodeBook(key []byte, b *spaceState) []byte {
	w := sealed.NewWriter(formatVersion, key)
	w.Text(b.name)
	w.U64(b.served)
	return w.Seal()
}

func decodeBook(key, value []byte) (name string, served uint64, err error) {
	r, err := sealed.NewReader(key, value, formatVersion, formatVersion)
	if err != nil {
		return "", 0, err
	}
	name, served = r.Text(maxName), r.U64()
	if name == "" {
		r.Fail()
	}
	return name, served, r.End("a space")
}

// encodeJob leaves out the space, which is in the key.
func encodeJob(key []byte, j Job) []byte {
	w := sealed.NewWriter(formatVersion, key)
	w.Text(string(j.Kind))
	w.Text(j.Subject)
	w.Time(j.Added)
	w.Time(j.From)
	w.Int(int64(j.Attempts))
	var parked byte
	if j.Parked {
		parked = 1
	}
	w.Byte(parked)
	w.Text(j.Reason)
	return w.Seal()
}

func decodeJob(key, value []byte) (Job, error) {
	r, err := sealed.NewReader(key, value, formatVersion, formatVersion)
	if err != nil {
		return Job{}, err
	}
	j := Job{Kind: readKind(r), Subject: r.Text(maxSubject), Added: r.Time(), From: r.Time(), Attempts: int(r.Int())}
	parked := r.Byte()
	if parked > 1 {
		r.Fail()
	}
	j.Parked, j.Reason = parked == 1, r.Text(maxName)
	return j, r.End("a job")
}

func encodePage(key []byte, p *ledgerDay) []byte {
	w := sealed.NewWriter(pageVersion, key)
	n := 0
	for _, a := range p {
		if a != (account{}) {
			n++
		}
	}
	w.Count(n)
	for i, a := range p {
		if a == (account{}) {
			continue
		}
		w.Text(string(kinds[i]))
		for _, x := range a.numbers() {
			w.Int(*x)
		}
		w.Float(a.joules)
		w.Int(a.measured)
	}
	return w.Seal()
}

func decodePage(key, value []byte) (*ledgerDay, error) {
	r, err := sealed.NewReader(key, value, formatVersion, pageVersion)
	if err != nil {
		return nil, err
	}
	p := &ledgerDay{}
	for range r.Count(len(kinds), 1) {
		k := readKind(r)
		if k.rank() < 0 || p[k.rank()] != (account{}) {
			r.Fail()
			break
		}
		a := &p[k.rank()]
		for _, x := range a.numbers() {
			*x = r.Int()
		}
		a.joules = r.Float()
		if r.Version() >= pageVersion {
			a.measured = r.Int()
		}
	}
	return p, r.End("a day of the ledger")
}

func encodeCredit(key []byte, c *credit) []byte {
	w := sealed.NewWriter(formatVersion, key)
	w.Text(string(c.kind))
	w.Int(int64(c.saves))
	return w.Seal()
}

func decodeCredit(key, value []byte) (*credit, error) {
	r, err := sealed.NewReader(key, value, formatVersion, formatVersion)
	if err != nil {
		return nil, err
	}
	c := &credit{kind: readKind(r), saves: time.Duration(r.Int())}
	return c, r.End("a credit")
}

func encodeUsage(key []byte, u *usage) []byte {
	w := sealed.NewWriter(formatVersion, key)
	w.Time(u.start)
	w.Int(int64(u.compute))
	w.Int(int64(u.questions))
	w.Int(u.written)
	w.Count(len(u.asked))
	for space, n := range u.asked {
		w.Raw(space[:])
		w.Int(int64(n[0]))
		w.Int(int64(n[1]))
	}
	return w.Seal()
}

func decodeUsage(key, value []byte) (usage, error) {
	r, err := sealed.NewReader(key, value, formatVersion, formatVersion)
	if err != nil {
		return usage{}, err
	}
	u := usage{start: r.Time(), compute: time.Duration(r.Int()), questions: int(r.Int()), written: r.Int()}
	for range r.Count(1<<20, 32) {
		if u.asked == nil {
			u.asked = map[kv.SpaceID][2]int{}
		}
		var space kv.SpaceID
		copy(space[:], r.Take(len(space)))
		u.asked[space] = [2]int{int(r.Int()), int(r.Int())}
	}
	return u, r.End("a window's budget")
}
