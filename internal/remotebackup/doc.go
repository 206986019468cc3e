// Package remotebackup stores backups in object storage that speaks S3. It is the only package that
// imports minio-go.
//
// Purpose: a backup there is a chain, one whole archive and increments after it. Write adds an
// archive to a chain. Points lists the moments that can be restored, Archives returns what one of
// them needs, and Prune deletes chains that are older than they are kept.
//
// Invariants: an archive counts only if its manifest exists, and Write stores the manifest after
// the archive is complete. So an upload that ends early changes nothing. A manifest has the
// checksum of its archive and of the archive before it; Read verifies them. Prune deletes the
// manifest of a chain's whole archive first, so that no chain is listed that cannot be restored. It
// never deletes the newest chain.
//
// Memory: an archive is sent in parts; two are in memory.
//
// Goroutines: Write starts one, which ends before it returns.
//
// State on disk: none. FORMAT.md describes the objects.
package remotebackup
