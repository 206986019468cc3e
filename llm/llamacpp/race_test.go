//go:build race

package llamacpp

// raceEnabled: all is ten times slower, and memory is not flat.
const raceEnabled = true
