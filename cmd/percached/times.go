package main

import (
	"time"
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
