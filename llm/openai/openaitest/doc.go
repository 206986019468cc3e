// Package openaitest serves an llm.Engine over OpenAI's interface, for tests: the other side of
// package openai. It is strict, so that a request that only some servers accept fails.
//
// It keeps the slice of the latest system messages and restores it, which makes a true prefix
// cache with counters.
package openaitest
