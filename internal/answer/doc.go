// Package answer is the path of one question: exact repeat, embedding, QA bank,
// retrieval, the gate, the tensor tree, the engine. It declares what it needs of
// the others as small interfaces and imports none of them.
//
// Not built yet: this package holds nothing.
package answer
