// Package retrieval finds the chunks that may answer a question, by words and
// by vectors. What it keeps is derived from the documents and can be rebuilt.
//
// Purpose: to follow the feed of chunks ([Index.Update]) and to rank them for a
// question ([Index.Search]): BM25 over an index of words kept by bleve, cosines
// over vectors kept by ourselves, and one ranking of both. Terms are made here,
// not by bleve: words and their stems, pairs of CJK characters, numbers,
// addresses, dates and names in one form for all ways to write them. Of bleve
// its storage engine is used, scorch. Its front is left out: that starts
// goroutines which never end. So is its scorer, see bm25.go.
//
// Invariants: a space is a partition; nothing crosses it. After Update returned,
// nothing is found that was gone when it began. Scores depend on the chunks
// that are there, not on how they came: deleted ones count for nothing, ties
// are broken by chunk, and vectors are rounded before they are used as they are
// on disk. (The graph over many vectors is the exception: it finds nearly all of
// the nearest, and which ones it misses depends on how it grew.) Vectors of two
// embedders are never compared; where those stored are another embedder's,
// words answer alone until [Index.Reembed] is done. The words and the vectors
// each know which seq of the feed they have caught up with, so that either may
// fall behind in a crash. An index of words that is damaged, of other rules, or
// ahead of its documents or its database is made anew, by the next Update or
// Search. No text of a document is stored: bleve gets terms, names and versions.
//
// A search compares the question with every vector; from Options.GraphFrom
// vectors on it walks a graph (HNSW), and compares those that are not in it yet.
// The graph is made beside all else, and mended when a sixteenth of the vectors is
// new or gone, in steps between which others change the space: about a millisecond
// a vector.
//
// Disk: but for the file of the graph nothing is written outside of a call. bleve merges and writes in the
// background and tries again without a pause what fails, so Update waits until
// it has come to rest, and closes it if it cannot write. Writing is refused when
// less than Options.MinFree, and the size of the index for merging, is free.
//
// Goroutines: bleve's, from the first use of a space until it is closed, and two
// that cut texts, from Open to Close. Of ours one for each space whose graph is at
// work; Close waits for it.
//
// State on disk: FORMAT.md. A folder for each space, and keys that begin with V
// in the database.
package retrieval
