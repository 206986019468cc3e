package figure

import "image/color"

// Chart is one picture: a panel, or several that belong together.
type Chart struct {
	ID    string // short, fit for a file's name
	Title string
	Paper string // what it is like in the paper; empty: nothing
	Note  string // what to know when reading it

	Panels  []Panel
	Columns int // of panels; 0: all in one row
}

// Panel is one pair of axes.
type Panel struct {
	Title          string
	XLabel, YLabel string
	Kind           Kind
	Labels         []string // of bars, one for each place; of lines, one for each of Ticks
	Ticks          []float64
	Colours        []color.Color // of bars, one for each place, where a place is a system
	Series         []Series
	Horizontal     bool        // bars run from left to right, the first place on top
	Numbers        bool        // stand at the bars
	Cells          [][]float64 // of a heat map: row by row; NaN: none
	Top            float64     // of the axis of values; 0: as the values need it
}

// Kind is how a panel shows its series.
type Kind int

// What kinds there are.
const (
	Grouped    Kind = iota // a bar for each series, side by side
	Stacked                // bars on top of each other
	Lines                  // points joined by lines
	Points                 // points alone
	Cumulative             // the share of the values of Y that are at most so large
	Heat                   // Cells
)

// Series is what is drawn alike.
type Series struct {
	Name   string
	Colour color.Color
	Mark   bool // of stacked bars: not a part of them, but a tick at its value

	X, Y []float64 // bars have no X; NaN in Y: nothing there
	// Whiskers; both empty if there are none.
	Low, High []float64
}
