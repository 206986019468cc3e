// Package kv is the only door to badger.
//
// Purpose: transactions over keys and values in one folder, large values read
// in place, space really given back, and errors of the house's kinds.
//
// Invariants: values of 32 KiB and more lie in badger's value log, which is
// memory-mapped; Tx.Lend hands out that memory until the transaction ends.
// Smaller ones lie beside their keys and are copied. What is lent stays mapped
// because an open iterator keeps badger from deleting value-log files, because
// no write grows a file beyond the size it was created with (Limit), and
// because cutting a full file to its length shrinks the map where it is: Linux
// does so, elsewhere Lend copies. Every value read from the value log is held
// against badger's checksum of it.
//
// badger writes through memory maps over sparse files, so a full disk would
// kill the process with SIGBUS. Writes are refused while less than
// Options.MinFree is free, or half of it where they make room. Since another
// program may take the last byte all the same, each file gets its blocks before
// badger writes to it, under Linux on file systems that can allocate (ext4, XFS,
// tmpfs; not ZFS, and on Btrfs only the first write to a block is sure). What
// needs more is refused, and a table that needs more waits: see allocation. Only
// if the disk fills while memtables are being settled or databases are being
// swapped do reads wait for room, too. What badger checks with log.Fatal cannot
// be caught.
//
// Deleted and overwritten bytes stay in badger's files for a while. Reclaim
// gives most of their space back; Rewrite alone makes sure that none is left.
// Who is in a transaction never waits for either: Rewrite swaps databases in a
// moment without transactions, and Reclaim gives up when the other runs.
//
// Goroutines: badger's own, from Open to Close. None of ours.
//
// State on disk: badger's files in the folder given to Open, and RECORD, which says
// what they must hold (FORMAT.md): a damaged database is refused, before anything
// is changed, and Salvage saves what can be read of it. A folder that
// badger cannot open and that may be lost is renamed to the same name with
// ".aside" behind it, in place of an earlier one; it stays until Rewrite or
// RemoveAside. Rewrite fills the folder with ".new" behind its name, and while
// it swaps, the one with ".old" is what was there: Open ends or undoes what a
// crash has left of that.
package kv
