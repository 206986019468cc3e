package answer

import (
	"strings"
	"unicode/utf8"

	"github.com/percached/percached/qabank"
)

// Bounds of what stands before the question in the prompt, in bytes.
const (
	earlier  = 4 << 10 // of all turns
	longTurn = 1 << 10 // of one; the rest of it is left out
)

// asks stands before a question where others came before it.
const asks = "Question: "

// alone says that nothing but the documents shapes the answer.
func (q *Question) alone() bool {
	return !q.FollowsUp && len(q.Earlier) == 0 && q.Instructions == "" && !qabank.FollowUp(q.Text)
}

// wanted is what is searched for: the question, and where it leans on what was
// asked before it that too, back to what means something alone.
func (q *Question) wanted() string {
	wanted, leans := q.Text, qabank.FollowUp(q.Text)
	for i := len(q.Earlier) - 1; i >= 0 && leans; i-- {
		t := q.Earlier[i]
		if t.Role != RoleUser {
			continue
		}
		if len(t.Text)+len(wanted) > maxQuestion {
			break
		}
		wanted, leans = t.Text+"\n"+wanted, qabank.FollowUp(t.Text)
	}
	return wanted
}

// asking is the question as it stands in the prompt, behind the instructions of
// who asks and so many of the latest turns of the conversation. A question that
// stands behind other text is marked as one.
func (q *Question) asking(turns int, marked bool) string {
	var b strings.Builder
	if q.Instructions != "" {
		b.WriteString(q.Instructions + "\n\n")
	}
	for _, t := range q.Earlier[len(q.Earlier)-turns:] {
		b.WriteString(t.line())
	}
	if marked || turns > 0 {
		b.WriteString(asks)
	}
	b.WriteString(q.Text)
	return b.String()
}

// turns is how many of the latest turns the prompt may hold at most.
func (q *Question) turns() int {
	left := earlier
	for i := len(q.Earlier) - 1; i >= 0; i-- {
		if left -= len(q.Earlier[i].line()); left < 0 {
			return len(q.Earlier) - 1 - i
		}
	}
	return len(q.Earlier)
}

func (t *Turn) line() string {
	text := strings.TrimSpace(t.Text)
	if len(text) > longTurn {
		end := longTurn
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + " ..."
	}
	if t.Role == RoleUser {
		return asks + text + "\n"
	}
	return "Answer: " + text + "\n\n"
}
