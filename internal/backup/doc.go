// Package backup writes and reads the archives of percached backup.
//
// Purpose: a Writer writes a header, files and database records to one stream. Read checks such
// a stream completely and passes on its content.
//
// Invariants: the caller trusts the content only after Read has returned nil. If an archive was
// truncated, damaged or extended, Read returns an error, at the latest at the end. Read refuses
// unknown names; no name leaves its folder. Memory is limited whatever sizes the archive
// declares.
//
// Goroutines: none.
//
// State on disk: none; FORMAT.md describes the archive.
package backup
