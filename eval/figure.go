package eval

// Figure is one picture of a report as data: numbers and words in one or more panels.
type Figure struct {
	ID    string // also the name of its files
	Title string
	Paper string // the figure of the PerCache paper that it follows; may be empty
	Note  string // the caption

	Panels  []Panel
	Columns int // panels in a row
}

// Panel is one pair of axes.
type Panel struct {
	Title          string
	XLabel, YLabel string
	Kind           Kind
	Labels         []string  // one for each bar or group of bars; of lines, one for each of Ticks
	Ticks          []float64 // of the X axis of lines; none: as the values need them
	Series         []Series
	Horizontal     bool        // bars run from left to right, the first label on top
	Cells          [][]float64 // of a heat map, by row, from 0 to 1; NaN: an empty cell
	Top            float64     // end of the value axis; 0: as the values need it
	Logarithmic    bool        // both axes of lines; all values are positive
}

// Kind is how a panel shows its series.
type Kind string

// The kinds of panels.
const (
	Bars    Kind = "bars"    // one bar for each series, side by side
	Stacked Kind = "stacked" // bars on top of each other
	Lines   Kind = "lines"
	Points  Kind = "points"
	Heat    Kind = "heat" // Cells
)

// Series is a row of values with one name. Bars of a series without a name
// go by their labels.
type Series struct {
	Name      string
	X, Y      []float64 // bars have no X; NaN in Y: no value
	Low, High []float64 // the interval of each value; empty: none
	Colour    int       // number of its colour if panels share it, from 1; 0: its place in the panel
}

// Value is the value at a place; false: there is none.
func (s *Series) Value(i int) (float64, bool) {
	if i >= len(s.Y) || s.Y[i] != s.Y[i] {
		return 0, false
	}
	return s.Y[i], true
}

// Interval is the interval of the value at a place; false: there is none.
func (s *Series) Interval(i int) (low, high float64, ok bool) {
	if i >= len(s.Low) || i >= len(s.High) || s.Low[i] != s.Low[i] {
		return 0, 0, false
	}
	return s.Low[i], s.High[i], true
}

// Highest is the end of the longest bar or interval of a panel of bars.
func (p *Panel) Highest() (top float64) {
	for i := range p.Labels {
		sum := 0.0
		for j := range p.Series {
			s := &p.Series[j]
			v, _ := s.Value(i)
			if p.Kind == Stacked {
				sum += v
				v = sum
			}
			_, high, _ := s.Interval(i)
			top = max(top, v, high)
		}
	}
	return top
}
