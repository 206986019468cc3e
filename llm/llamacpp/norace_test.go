//go:build !race

package llamacpp

const raceEnabled = false
