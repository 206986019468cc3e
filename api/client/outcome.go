package client

// Text says how an answer was made, for people. An outcome that a newer daemon added is
// its own text.
func (o Outcome) Text() string {
	switch o {
	case OutcomeAnswerHit:
		return "stored answer"
	case OutcomeVerifiedHit:
		return "confirmed stored answer"
	case OutcomeTensorHit:
		return "used stored text"
	case OutcomeMiss:
		return "computed"
	}
	return string(o)
}
