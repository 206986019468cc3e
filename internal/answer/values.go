package answer

import (
	"encoding/json"
	"strings"

	"github.com/percached/percached/qabank/likeness"
)

// claims is what an answer says of the documents: of JSON the values alone.
func (r *request) claims(answer string) string {
	if r.Grammar != "" && isJSON(answer) { // it may be the text beside the calls of tools
		return jsonValues(answer)
	}
	return answer
}

// sameAnswer reports whether two answers to the question say the same. JSON does if it has
// the same shape, and its texts do.
func (r *request) sameAnswer(a, b string) bool {
	if r.Grammar == "" {
		return likeness.SameAnswer(a, b, r.Text)
	}
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return sameValue(x, y, r.Text)
}

func sameValue(a, b any, question string) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, v := range a {
			if w, ok := b[key]; !ok || !sameValue(v, w, question) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !sameValue(a[i], b[i], question) {
				return false
			}
		}
		return true
	case string:
		b, ok := b.(string)
		return ok && likeness.SameAnswer(a, b, question)
	}
	return a == b // what is left has no parts
}

// isJSON reports whether a text is JSON or the beginning of it.
func isJSON(text string) bool {
	return json.Valid([]byte(text)) || text != "" && strings.ContainsRune(`{["`, rune(text[0]))
}

// jsonValues are the texts and numbers in JSON, each behind a comma: so a capital letter
// makes a name of the first word too. JSON that was cut has those that are whole.
func jsonValues(text string) string {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var values strings.Builder
	var inObject []bool // of the open brackets: whether each is an object's
	key := false        // the next token is a key
	for {
		token, err := dec.Token()
		if err != nil {
			return values.String()
		}
		switch v := token.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				inObject = append(inObject, v == '{')
				key = v == '{'
				continue
			}
			inObject = inObject[:len(inObject)-1]
		case string:
			if key {
				key = false
				continue
			}
			values.WriteString(", " + v)
		case json.Number:
			values.WriteString(", " + v.String())
		}
		key = len(inObject) > 0 && inObject[len(inObject)-1]
	}
}
