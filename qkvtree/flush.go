package qkvtree

import (
	"github.com/percached/percached/internal/base/fault"
)

// touch counts a use of a node; its counters are written later. It wants mu.
func (t *Tree) touch(n *node) {
	t.f.touch(n, t.o.Now())
	t.changed[n] = true
}

// Flush writes the counters that differ from those on disk.
func (t *Tree) Flush() error {
	const op = "qkvtree.Flush"
	if err := t.begin(op); err != nil {
		return err
	}
	defer t.writing.Unlock()
	return fault.Wrap(op, t.flush())
}

// flushIfDue keeps the number of changed counters bounded, for who holds
// writing. That they cannot be
// written fails nobody's request: Flush will say so.
func (t *Tree) flushIfDue() {
	t.mu.Lock()
	due := len(t.changed) >= t.o.FlushEvery
	t.mu.Unlock()
	if due {
		_ = t.flush()
	}
}

func (t *Tree) flush() error {
	t.mu.Lock()
	changed := t.changed
	age := t.f.age
	if len(changed) == 0 && age == t.written {
		t.mu.Unlock()
		return nil
	}
	t.changed = map[*node]bool{}
	records := make([][2][]byte, 0, len(changed)+1)
	for n := range changed {
		k := nodeKey(counterKind, n.group.prefix, n.path)
		records = append(records, [2][]byte{k, n.counters.encode(k)})
	}
	k := []byte{ageKind}
	records = append(records, [2][]byte{k, age.encode(k)})
	t.mu.Unlock()
	err := t.store.set(records)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		for n := range changed {
			if n.group.nodes[n.path] == n {
				t.changed[n] = true
			}
		}
		return err
	}
	t.written = age
	t.stats.flushes++
	for _, r := range records {
		t.stats.written += int64(len(r[0]) + len(r[1]))
	}
	return nil
}
