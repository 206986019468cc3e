// Package sealed encodes and decodes small records: a version, fields, and a checksum.
//
// Purpose: the stores encode their records in one way.
//
// Invariants: the checksum covers the key too, so a record is valid under its own key only. A
// Reader never reads beyond the record, and never allocates more than the record's length. It
// remembers its first failure, and End returns it.
//
// Goroutines: none. State on disk: none; the FORMAT.md of each store describes its records.
package sealed
