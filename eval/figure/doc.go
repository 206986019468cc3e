// Package figure draws the figures of a report with gonum/plot, as SVG and as PNG.
//
// Invariants: the same figure gives the same bytes. A system has the same colour in
// every figure, and so has a stage.
//
// Goroutines: none. State on disk: none.
package figure
