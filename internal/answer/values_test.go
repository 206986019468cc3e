package answer

import "testing"

func TestJSONValues(t *testing.T) {
	for _, c := range []struct{ json, want string }{
		{`{}`, ""},
		{`{"who":"Anna","sums":[1.50,{"in":"euros"}],"ok":true,"x":null,"last":{"day":"Friday"}}`, ", Anna, 1.50, euros, Friday"},
		{`[["a","b"],"c"]`, ", a, b, c"},
		{`"The budget"`, ", The budget"},
		{`{"who":"Anna","day":"Fri`, ", Anna"},
		{`no JSON`, ""},
	} {
		if got := jsonValues(c.json); got != c.want {
			t.Errorf("%s: %q, want %q", c.json, got, c.want)
		}
	}
}

// Two answers in JSON are the same if each value is.
func TestSameJSON(t *testing.T) {
	r := request{Question: Question{Text: "Who pays, and how much?", Grammar: "root ::= ."}}
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"who":"Anna","paid":true,"sum":42}`, `{"paid": true, "sum": 42.0, "who": "Anna."}`, true},
		{`{"who":"Anna","paid":true}`, `{"who":"Anna","paid":false}`, false},
		{`{"who":"Anna"}`, `{"who":"Bert"}`, false},
		{`{"who":"Anna"}`, `{"payer":"Anna"}`, false},
		{`{"who":"Anna"}`, `{"who":"Anna","sum":null}`, false},
		{`["Anna",1]`, `["Anna",1]`, true},
		{`["Anna",1]`, `["Anna"]`, false},
		{`["Anna"]`, `{"0":"Anna"}`, false},
		{`{"who":"Anna"}`, `{"who":{"name":"Anna"}}`, false},
		{`{"who":"An`, `{"who":"An`, true},
		{`{"who":"An`, `{"who":"Anna"}`, false},
	} {
		if got := r.sameAnswer(c.a, c.b); got != c.want || r.sameAnswer(c.b, c.a) != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}
