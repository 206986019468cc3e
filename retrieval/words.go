package retrieval

import (
	"slices"
	"strings"
)

// calendar gives names of months and days in full. A few of the short ones are
// words of their own; they are then found as both.
var calendar = map[string]string{
	"jan": "january", "feb": "february", "mar": "march", "apr": "april", "jun": "june", "jul": "july",
	"aug": "august", "sep": "september", "sept": "september", "oct": "october", "nov": "november", "dec": "december",
	"mon": "monday", "tue": "tuesday", "tues": "tuesday", "wed": "wednesday", "thu": "thursday", "thur": "thursday",
	"thurs": "thursday", "fri": "friday", "sat": "saturday", "sun": "sunday",
}

// monthOf is the name of a month written in two digits.
func monthOf(digits string) string {
	if len(digits) != 2 {
		return ""
	}
	months := [...]string{
		"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
	}
	n := int(digits[0]-'0')*10 + int(digits[1]-'0')
	if n < 1 || n > len(months) {
		return ""
	}
	return months[n-1]
}

// stopWord says whether a word tells little of what a question is about.
func stopWord(w string) bool {
	_, found := slices.BinarySearch(stopWords, w)
	return found
}

// stopWords are sorted.
var stopWords = strings.Fields(`
	a about after an and any are as at be been before but by can could did do does for from had has have he her his
	how i if in into is it its many me much my of on or our s she should so some t than that the their them then there
	these they this those to us was we were what when where which who whom whose why will with would you your`)
