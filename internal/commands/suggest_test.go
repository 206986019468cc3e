package commands

import "testing"

func TestDidYouMean(t *testing.T) {
	names := []string{"add", "ask", "backup", "doctor", "documents", "status"}
	for given, want := range map[string]string{
		"aks": " (did you mean ask?)", "doc": " (did you mean doctor or documents?)", "stauts": " (did you mean status?)",
		"documnets": " (did you mean documents?)", "STATUS": " (did you mean status?)", "nosuch": "", "a": "", "": "", "xyz": "",
	} {
		if got := didYouMean(given, names, ""); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"ask", "ask"}: 0, {"ask", ""}: 3, {"ask", "aks"}: 1, {"ask", "task"}: 1, {"serve", "sreve"}: 1, {"kitten", "sitting"}: 3,
	} {
		if got, back := distance(pair[0], pair[1]), distance(pair[1], pair[0]); got != want || back != want {
			t.Errorf("%q: %d, %d, want %d", pair, got, back, want)
		}
	}
}
