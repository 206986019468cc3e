package main

import (
	"time"

	"github.com/percached/percached/api/client"
)

// timeText is a time for people, in the zone of this machine. JSON has UTC.
func timeText(t time.Time) string {
	if dayOnly(t) {
		return t.UTC().Format(time.DateOnly)
	}
	return t.Local().Format(time.DateTime)
}

// dateText is the day of a time in the zone of this machine, or empty if the time is unknown.
func dateText(t *time.Time) string {
	switch {
	case t == nil || t.IsZero():
		return ""
	case dayOnly(*t):
		return t.UTC().Format(time.DateOnly)
	}
	return t.Local().Format(time.DateOnly)
}

// dayOnly says that a document names a day without an hour, which is the same day everywhere.
func dayOnly(t time.Time) bool { return t.Equal(t.UTC().Truncate(24 * time.Hour)) }

// outcomeText says how an answer was made, for people. JSON has the outcome itself.
func outcomeText(o client.Outcome) string {
	switch o {
	case client.OutcomeAnswerHit:
		return "stored answer"
	case client.OutcomeVerifiedHit:
		return "confirmed stored answer"
	case client.OutcomeTensorHit:
		return "used stored text"
	case client.OutcomeMiss:
		return "computed"
	}
	return string(o)
}
