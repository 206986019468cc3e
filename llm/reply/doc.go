// Package reply makes an answer of what a model writes: it removes thoughts, ends the text at
// stop strings and where it repeats itself, and returns pieces of complete UTF-8.
//
// The result does not depend on how the text is cut into tokens. A Writer serves one answer and
// one goroutine.
package reply
