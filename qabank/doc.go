// Package qabank keeps answers to be given again: each entry holds a question,
// its embedding, the answer if there is one yet, and the evidence that must
// still stand before the answer may be served.
//
// Not built yet: this package holds nothing.
package qabank
