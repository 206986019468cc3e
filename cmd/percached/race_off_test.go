//go:build !race

package main

// raced says that the race detector is on, so that everything is several times slower.
const raced = false
