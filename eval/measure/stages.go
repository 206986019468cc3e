package measure

// Stages are those of a question's path that follow on each other, as percached tells
// their times. Its first_token and total hold several of them.
func Stages() []string {
	return []string{"match_question", "retrieve", "match_tensors", "queue", "load_tensors", "prefill", "decode", "capture", "store"}
}

const (
	// Between is what percached took of a question that is of no stage.
	Between = "between"
	// Outside is what the client waited beyond percached's total.
	Outside = "outside"
)

// Rest adds to stages, in milliseconds, what is between and outside of them, so that
// with those they come to what the client waited. Without a total neither is known.
func Rest(stages map[string]float64, client float64) {
	total, ok := stages["total"]
	if !ok {
		return
	}
	between := total
	for _, name := range Stages() {
		between -= stages[name]
	}
	const noise = 1e-6 // that sums of decimals leave
	if between < noise {
		between = 0
	}
	stages[Between], stages[Outside] = between, max(0, client-total)
}
