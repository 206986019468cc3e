// Package durable writes small files so that a crash leaves the old or the new file, complete,
// and reports the free space of a disk.
//
// State on disk: Write creates NAME.new beside the file and renames it when it is complete.
// After a crash NAME.new remains until the next Write of that file.
//
// Only one goroutine of one process may write a file at a time.
package durable
