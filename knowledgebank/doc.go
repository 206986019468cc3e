// Package knowledgebank keeps a space's documents: it takes them in, cuts them
// into chunks that are named by the hash of their text, counts who uses which
// chunk, and deletes so that nothing is left behind.
//
// Not built yet: this package holds nothing.
package knowledgebank
