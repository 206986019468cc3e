// Package supervise keeps an engine usable: it reopens an engine that failed, a bounded
// number of times, and repeats the request that met the failure.
package supervise
