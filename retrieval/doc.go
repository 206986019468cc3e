// Package retrieval finds the chunks that may answer a question, by words and by
// vectors. All its data is derived from the documents and can be rebuilt.
//
// Purpose: to follow the feed of chunks ([Index.Update]) and to rank chunks for a
// question ([Index.Search]). BM25 scores come from an index of words kept by bleve,
// cosines from vectors kept by this package; both are fused into one ranking. This
// package makes the terms itself: words and their stems, pairs of CJK characters, and
// one form for all spellings of a number, address, date or name. Of bleve it uses only
// the storage engine, scorch. Bleve's front starts goroutines that never end, and its
// scorer departs from BM25: see bm25.go.
//
// Invariants:
//   - A space is a partition; nothing crosses it.
//   - After Update returns, Search finds no chunk that was gone when Update began.
//   - Scores depend on the chunks that exist, not on the order in which they came. Ties
//     are broken by chunk, and vectors in memory are rounded as they are on disk.
//   - Vectors of two embedders are never compared. While the stored vectors are another
//     embedder's, Search uses words alone until [Index.Reembed] is done.
//   - The words and the vectors each record the seq of the feed that they have caught
//     up with, so either may fall behind in a crash.
//   - An index of words is rebuilt by the next Update or Search if it is damaged, has
//     other rules, or is ahead of its documents or its database.
//   - No text of a document is stored: bleve gets terms, names and versions.
//
// A search compares the question with every vector: first roughly, over vectors rounded
// to seven bits, then exactly for the best few hundred (scan.go).
//
// Disk: nothing is written outside of a call. Bleve merges and writes in the background
// and retries a failed write at once and forever, so Update waits until bleve has
// finished, and closes the index if bleve cannot write. Writing is refused when the disk
// has less free space than Options.MinFree plus the size of the index.
//
// Goroutines: bleve's, from the first use of a space until it is closed; two that cut
// texts into terms, from Open to Close; up to four during a search over many vectors.
//
// State on disk: FORMAT.md. A folder for each space, and keys that begin with V in the
// database.
package retrieval
