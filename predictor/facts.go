package predictor

import (
	"regexp"
	"strings"

	"github.com/percached/percached"
)

// thing is what a sentence of a fact speaks of: "the report", "our budget for Heron".
const thing = `(?:the|our|your|my|this) ((?:[\pL\d'’-]+ ){0,3}?[\pL\d'’-]+)`

// facts are sentences that answer a question which people ask of their documents, in
// English. $1 is what the question is about.
var facts = []struct {
	sentence *regexp.Regexp
	question string
}{
	{regexp.MustCompile(`(?i)\b` + thing + ` (?:is|are|was|were) due (?:on|by|at|in|before|this|next|tomorrow|\d)`), "When is the $1 due?"},
	{regexp.MustCompile(`(?i)\bdeadline for ` + thing + `(?: is|:| was| has)`), "What is the deadline for the $1?"},
	{regexp.MustCompile(`(?i)\b(?:send|submit|return|hand in|turn in|finish|complete|deliver) ` + thing + ` (?:back |in )?(?:by|before|no later than) (?:the |next |this )?(?:\d|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|tomorrow|end|noon|close)`), "When is the $1 due?"},
	{regexp.MustCompile(`(?i)\b(?:the|our) ((?:[\pL\d'’-]+ ){0,2}(?:meeting|call|conference|party|presentation|interview|appointment|workshop|training|trip|flight|dinner|lunch|launch|release|delivery)) (?:is|will be|takes place|starts|begins|has been moved|was moved|moved)(?: now| scheduled| held| set| moved)?(?: for| on| at| to)? (?:the |next |this )?(?:\d|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|tomorrow|noon)`), "When is the $1?"},
	{regexp.MustCompile(`(?i)\b(?:the|our) ((?:[\pL\d'’-]+ )?(?:budget|price|cost|rent|fee|salary|total|bill)(?: (?:for|of)(?: the)? [\pL\d'’-]+(?: [\pL\d'’-]+)?)?) (?:is|was|are|will be|comes to|came to|rose to|amounts to|has been set at) (?:now |about |roughly |around )?[$€£]?\d`), "What is the $1?"},
}

// factQuestions makes questions without a model, of sentences whose form tells what they
// answer: a deadline, a date, an amount. A round from the history has none.
func (d *draft) factQuestions(chunks []percached.Chunk) (found []proposal) {
	if d.from != Knowledge {
		return nil
	}
	for i := range chunks {
		text := strings.Join(strings.Fields(chunks[i].Body), " ")
		for _, f := range facts {
			for _, at := range f.sentence.FindAllStringSubmatchIndex(text, 2) {
				q := string(f.sentence.ExpandString(nil, f.question, text, at))
				found = append(found, proposal{question: q, from: Knowledge, chunks: []percached.ChunkID{chunks[i].ID}})
			}
		}
	}
	return found
}
