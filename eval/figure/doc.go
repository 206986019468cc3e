// Package figure makes charts from a run: those of the PerCache paper, and a few
// more. A chart is numbers and words first, and then drawn as SVG or as PNG.
//
// Purpose: Charts gives the charts that a run has the data for, Missing says which
// it has not, and why; SideBySide puts runs next to each other. Chart.SVG and
// Chart.PNG draw.
//
// Invariants: the same run gives the same bytes. A system has the same colour in
// every chart, and so has a stage. No text of a question, an answer or a document
// gets into a chart. An answer that failed has no latency; it counts as wrong where
// quality is shown, and the chart's note counts it.
//
// Goroutines: none. State on disk: none.
package figure
