package answer

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/percached/percached"
)

// bytesPerToken is the size of a token of dense text, about: English has 4. The window is
// counted in bytes, so that it begins at the same turn whatever the model.
const bytesPerToken = 3

// recalledExchanges is how many exchanges before the window a prompt gets at most.
const (
	recalledExchanges = 2
	recalledBytes     = 300 // of each
)

// talk is what a prompt contains of the conversation before its question.
type talk struct {
	id percached.ChunkID // names its tensors
	// lead stands before the chunks, in the order in which it was said: the client's
	// instructions, the summary of what the window no longer holds, the exchanges in it.
	// What is said later changes nothing in it, so that its tensors stay valid.
	lead     []string
	recalled string // of exchanges before the window that have rare words of the question
	// instructed says that the first of lead are the client's instructions alone: not those of
	// the stored conversation, and no results of tools.
	instructed bool
	// tells says that the conversation may have the answer without any chunk.
	tells bool
}

// talkOf returns what a prompt contains of the conversation, with a window of so many bytes.
func (q *Question) talkOf(window int) talk {
	t := talk{id: q.talkID(), instructed: q.Instructions != "" && !q.instructed && q.Grammar == ""}
	if q.Instructions != "" {
		t.lead = append(t.lead, strings.TrimSpace(q.Instructions)+"\n\n")
	}
	if len(q.Earlier) == 0 {
		return t
	}
	all := exchanges(q.Earlier)
	start := windowStart(all, window)
	if q.summary != "" && start > 0 {
		t.lead = append(t.lead, "Summary of what was said before:\n"+q.summary+"\n\n")
	}
	for _, e := range all[start:] {
		t.lead = append(t.lead, e.text)
	}
	for _, e := range recall(all[:start], q.Text) {
		t.recalled += e.recalled(q.Earlier)
	}
	t.tells = q.tells
	return t
}

// talkID names the tensors of a conversation. Those of conversations that are not stored
// have one name.
func (q *Question) talkID() percached.ChunkID {
	if q.Conversation == (percached.ChunkID{}) {
		return percached.NewChunkID("conversation")
	}
	return q.Conversation
}

// windowOf is the size of the window in bytes, for half of a model's context.
func windowOf(m percached.ModelInfo) int { return m.Context / 2 * bytesPerToken }

// exchange is a question with its answer, as a prompt has them.
type exchange struct {
	turn int // the first
	text string
}

// recalled is an exchange right before the question. Of what the user stated the reply says
// nothing.
func (e exchange) recalled(turns []Turn) string {
	text := e.text
	if t := turns[e.turn]; t.Role == RoleUser && states(t.Text) {
		text = "The user said: " + strings.TrimPrefix(t.promptText(), questionMark)
	}
	if len(text) > recalledBytes {
		return strings.ToValidUTF8(text[:recalledBytes], "") + " ...\n"
	}
	return text
}

func exchanges(turns []Turn) (all []exchange) {
	for i, t := range turns {
		if i > 0 && t.Role == RoleAssistant && turns[i-1].Role == RoleUser {
			all[len(all)-1].text += t.promptText()
		} else {
			all = append(all, exchange{i, t.promptText()})
		}
	}
	for i := range all {
		all[i].text += "\n"
	}
	return all
}

// windowStart is the first exchange of the window. The window grows until it is full; then
// it loses half at once, so that its beginning, on which all its tensors depend, seldom
// moves.
func windowStart(all []exchange, window int) int {
	start, size := 0, 0
	for i, e := range all {
		if size += len(e.text); size <= window {
			continue
		}
		for ; start <= i && size > window/2; start++ {
			size -= len(all[start].text)
		}
	}
	return start
}

// recall returns the exchanges that share the rarest words with a question, in the order in
// which they were said.
func recall(all []exchange, question string) (best []exchange) {
	if len(all) == 0 {
		return nil
	}
	words := make([]map[string]bool, len(all))
	in := map[string]int{} // how many exchanges have a word
	for i, e := range all {
		words[i] = topicWords(e.text)
		for w := range words[i] {
			in[w]++
		}
	}
	asked := topicWords(question)
	type scored struct {
		at    int
		score float64
	}
	var found []scored
	for i := range all {
		s := 0.0
		for w := range asked {
			if words[i][w] {
				s += math.Log(1 + float64(len(all))/float64(in[w]))
			}
		}
		if s > 0 {
			found = append(found, scored{i, s / math.Sqrt(float64(8+len(words[i])))})
		}
	}
	slices.SortFunc(found, func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), b.at-a.at) })
	found = slices.CompactFunc(found, func(a, b scored) bool { return all[a.at].text == all[b.at].text }) // the same score
	found = found[:min(recalledExchanges, len(found))]
	slices.SortFunc(found, func(a, b scored) int { return a.at - b.at })
	for _, f := range found {
		best = append(best, all[f.at])
	}
	return best
}

// topicWords are the words that say what a text is about, without endings of the plural.
func topicWords(text string) map[string]bool {
	found := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		if utf8.RuneCountInString(w) > 2 && !slices.Contains(asks, w) && !slices.Contains(small, w) && !isPreposition(w) && !slices.Contains(labels, w) {
			found[strings.TrimSuffix(w, "s")] = true
		}
	}
	return found
}

var (
	// Words of the prompt itself.
	labels = strings.Fields("question answer")
	// Words of somebody who speaks of themselves.
	own = strings.Fields("i my mine me we our ours us i'm i've i'd i'll we're we've")
	// Words with which a message asks for something or says nothing.
	requests = strings.Fields("tell show give list find summarise summarize explain describe compare write draft make help please thanks thank hi hello ok okay yes no")
	// Words that ask for what was said.
	spoken = strings.Fields("said told mentioned agreed discussed talked earlier")
)

// states reports whether a message of the user says something, rather than asking.
func states(text string) bool {
	text = strings.TrimSpace(text)
	words := bareWords(text)
	return len(words) > 2 && !strings.HasSuffix(text, "?") && !slices.Contains(asks, words[0]) && !slices.Contains(requests, words[0])
}

func isOwn(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(own, w) })
}

// leansOnStatement reports whether something that the user said in the conversation, rather
// than asked, may bear on the question: both speak of the user, or of the same thing.
func (q *Question) leansOnStatement() bool {
	words, topic := bareWords(q.Text), topicWords(q.Text)
	asksForIt := slices.ContainsFunc(words, func(w string) bool { return slices.Contains(spoken, w) })
	for _, t := range q.Earlier {
		if t.Text = t.Text[:min(len(t.Text), promptTurn)]; t.Role != RoleUser || !states(t.Text) {
			continue
		}
		if asksForIt || isOwn(words) && isOwn(bareWords(t.Text)) {
			return true
		}
		shared := 0
		for w := range topicWords(t.Text) {
			if topic[w] {
				shared++
			}
		}
		if shared > 1 {
			return true
		}
	}
	return false
}
