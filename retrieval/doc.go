// Package retrieval finds the chunks that may answer a question, by words and
// by vectors. What it keeps is derived from the documents and can be rebuilt.
package retrieval
