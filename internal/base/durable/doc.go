// Package durable puts small files on the disk so that a crash leaves the old one
// or the new one whole, and makes names last. It tells how much of the disk is free.
//
// State on disk: a file is written beside its place, with Unfinished behind its
// name, and renamed once it is whole. What a crash leaves there lies until the
// next Write of that file.
//
// Write of one file is for one goroutine of one process at a time; nothing else
// is shared.
package durable
