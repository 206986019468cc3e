// Package kv is the only package that imports badger.
//
// Purpose: transactions over keys and values in one folder, large values read in place,
// reclaiming of disk space, and errors with a kind of package fault.
//
// Invariants: values of 32 KiB and more are in badger's value log, which is memory-mapped;
// Tx.Lend returns that memory, valid until the transaction ends. Smaller values are stored with
// their keys and are copied. Lent memory stays mapped for three reasons: an open iterator keeps
// badger from deleting value-log files; no write grows a file beyond the size it was created
// with (Limit); and Linux shrinks a map in place when a full file is cut to its length. On
// other systems Lend copies. Every value read from the value log is verified against badger's
// checksum.
//
// badger writes through memory maps of sparse files, so a full disk would kill the process with
// SIGBUS. Writes are refused if less than Options.MinFree is free, or less than half of it if
// they free space. Because another program may still fill the disk, each file gets its blocks
// before badger writes to it. This works on Linux, on file systems that can preallocate: ext4,
// XFS and tmpfs, but not ZFS; on Btrfs only the first write to a block is safe. A write that
// needs more space is refused, and a table that needs more waits (see allocation). Reads wait
// for space only if the disk fills up while memtables are flushed or databases are swapped.
// Checks that badger ends with log.Fatal cannot be caught.
//
// Deleted and overwritten bytes stay in badger's files for a while. Reclaim frees most of their
// space; only Rewrite guarantees that none is left. A transaction never waits for either:
// Rewrite swaps databases at a moment without transactions, and Reclaim gives up while Rewrite
// runs.
//
// Goroutines: badger's own, from Open to Close.
//
// State on disk: badger's files in the folder given to Open, and RECORD, which says what they
// must contain (FORMAT.md). A damaged database is refused before anything is changed; Salvage
// recovers what is readable. If Options.Disposable is set and badger cannot open the folder,
// Open renames it to NAME.aside, replacing an earlier one, and starts empty; Rewrite and
// RemoveAside delete it. Rewrite fills NAME.new, and during the swap NAME.old is the previous
// database. After a crash, Open completes or undoes the swap.
package kv
