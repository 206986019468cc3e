package kv

// Snapshot is the database at one moment, for who reads it for long: other than in
// View, it may be taken under a lock and read outside of it.
type Snapshot struct{ tx *Tx }

// Snapshot takes one. Close ends it; until then, space is given back late, and
// Rewrite is a Conflict.
func (db *DB) Snapshot() (*Snapshot, error) {
	tx, err := db.begin(false)
	if err != nil {
		return nil, wrap("kv.Snapshot", err)
	}
	db.gate.hold()
	return &Snapshot{tx}, nil
}

// Each is Tx.Each over all keys.
func (s *Snapshot) Each(fn func(key, value []byte) error) error { return s.tx.Each(nil, fn) }

// Close ends the snapshot.
func (s *Snapshot) Close() {
	s.tx.db.gate.release()
	s.tx.end()
}
