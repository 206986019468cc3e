//go:build race

package main

// raced: the tests watch for races, and all is several times slower.
const raced = true
