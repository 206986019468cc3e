// Package grammar says which texts a model may write.
//
// Purpose: an answer in a format that programs read must have that format, whatever the
// model prefers. Parse reads a grammar in GBNF, the notation of llama.cpp. A Matcher
// follows one answer and says which texts may come next. FromSchema makes the grammar of
// a JSON Schema.
//
// llama.cpp has a matcher of its own. percached does not use it, because grammars come
// with requests: its matcher keeps one stack for each reading of a text, so an ambiguous
// recursive grammar takes exponential time and memory, its test for left recursion misses
// rules that are empty by way of others and then overflows the C stack, and it prints a
// refused grammar to stderr. This matcher keeps readings with equal futures once (as
// Earley's parser does), accepts left recursion, and has limits for everything.
//
// Invariants: Parse and FromSchema refuse what they do not know with fault.Invalid. The
// time and memory of a step are bounded. A grammar never changes; a Matcher belongs to
// one goroutine.
//
// Goroutines: none. State on disk: none.
package grammar
