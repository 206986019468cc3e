package gate

// State is what the gate of a space serves at present.
type State string

// The states.
const (
	// Proven: only exact repeats and questions that clearly mean the same are served.
	Proven State = "proven"
	// Calibrated: the share of wrong answers rests mostly on the shipped calibration.
	Calibrated State = "calibrated"
	// Learnt: it rests mostly on this space's own checks.
	Learnt State = "learnt"
	// Shut: this space's checks found too many wrong answers; only what is proven is
	// served until enough answers were right.
	Shut State = "shut"
)

// Report is what the gate of a space has served and found, and what is in force.
type Report struct {
	MaxWrong  float64 // the share of wrong answers that the user accepts
	State     State
	Threshold float64 // the score from which stored answers are served; above 1: none
	Served    uint64  // answers served for a question in other words
	Checked   uint64  // of those, answered again and compared
	Wrong     uint64  // of those, different from the fresh answer
	// Estimate is the expected share of wrong answers among those served at the threshold,
	// with its 95 % interval.
	Estimate, Low, High float64
}
