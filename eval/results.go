package eval

// Results are a run and those of its units that are done.
type Results struct {
	Run   Run    `json:"run"`
	Units []Unit `json:"units"`
}
