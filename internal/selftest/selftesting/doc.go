// Package selftesting gives tests of doctor and of the benchmarks fake engines, sound and
// broken ones.
package selftesting
