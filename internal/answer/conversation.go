package answer

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/conversation"
)

// Bounds of a conversation's summary, in tokens.
const (
	summaryAfter  = 2048 // it is made when so many have left the window since the last one
	summaryTokens = 256
)

//go:embed prompts/summary.txt
var summaryPrompt string

// dialog is a question's stored conversation as it was before the question.
type dialog struct {
	conversation.Conversation
	seq    uint64 // the space's count of changes when it was read
	turns  []conversation.Turn
	failed error // why its earliest turns are not kept
}

// openDialog reads the conversation of a question and puts its turns before the question.
// A client that repeats all turns in each request has a stored conversation, found by these
// turns, as soon as they do not fit into the window.
func (a *Asker) openDialog(q *Question) (d dialog, err error) {
	if a.Conversations == nil {
		return d, nil
	}
	if d.seq, err = a.Knowledge.Seq(q.Space); err != nil {
		return d, err
	}
	if q.Conversation == (percached.ChunkID{}) {
		if windowStart(exchanges(q.Earlier), a.window()) == 0 {
			return d, nil
		}
		id, err := a.findDialog(*q)
		if err == nil {
			d.Conversation, d.turns, err = a.Conversations.Get(q.Space, conversation.ID(id))
		}
		if err != nil { // on a full disk, for example
			return dialog{failed: err}, nil
		}
		q.Conversation = id
	} else if len(q.Earlier) > 0 {
		return d, fault.New(fault.Invalid, "answer.Ask", "a question of a stored conversation brings no earlier turns")
	} else if d.Conversation, d.turns, err = a.Conversations.Get(q.Space, conversation.ID(q.Conversation)); err != nil {
		return d, err
	}
	// The first of them seldom changes, so that the window seldom moves.
	const step = maxTurns / 2
	d.turns = d.turns[max(0, (len(d.turns)-maxTurns+step-1)/step*step):]
	q.Earlier = nil
	for _, t := range d.turns {
		q.Earlier = append(q.Earlier, Turn{t.Role, t.Text})
		q.said = append(q.said, t.Chunks...)
	}
	q.said = unique(q.said)
	if q.alive, err = a.Knowledge.Chunks(q.Space, q.said); err != nil && fault.KindOf(err) != fault.Internal {
		return d, err // a damaged chunk is left out, as in retrieve
	}
	if d.Instructions != "" {
		q.Instructions, q.instructed = strings.TrimSpace(d.Instructions+"\n\n"+q.Instructions), true
	}
	q.summary, q.read = d.Summary.Text, d.seq
	return d, nil
}

// findDialog finds the conversation of these turns, or begins one, and adds the turns that
// it does not have.
func (a *Asker) findDialog(q Question) (percached.ChunkID, error) {
	turns := make([]conversation.Turn, len(q.Earlier))
	for i, t := range q.Earlier {
		turns[i] = conversation.Turn{Role: t.Role, Text: t.Text}
	}
	a.finding.Lock() // two requests must not add the same turns
	defer a.finding.Unlock()
	var c conversation.Conversation
	err := a.Keep(func() (err error) {
		if _, err := a.Knowledge.Space(q.Space); err != nil {
			return err
		}
		found, has, ok := a.Conversations.Find(q.Space, turns)
		if c = found; !ok {
			c, err = a.Conversations.Create(q.Space, conversation.Conversation{Found: true})
		}
		if err == nil && has < len(turns) {
			_, err = a.Conversations.Append(q.Space, c.ID, turns[has:]...)
		}
		return err
	})
	return percached.ChunkID(c.ID), err
}

// window is the size of a conversation's window in a prompt, in bytes.
func (a *Asker) window() int { return windowOf(a.Engine.Info()) }

// continueDialog adds the question and its answer to the conversation, and prepares its next
// question in the background.
func (a *Asker) continueDialog(q Question, d dialog, answer *Answer) {
	if d.failed != nil {
		answer.addNote("the conversation is not kept, so that its earliest turns were left out")
		a.Logger.Warn("a conversation is not kept", "space", q.Space, "kind", fault.KindOf(d.failed))
	}
	if d.ID == (conversation.ID{}) {
		return
	}
	if !d.Found { // that one comes with the next question
		text := answer.Text
		if !answer.Grounded && answer.Instead != nil {
			text = answer.Instead.Text // what the client shows
		}
		said := conversation.Turn{Role: conversation.Assistant, Text: text}
		for _, c := range answer.Citations {
			said.Chunks = append(said.Chunks, c.Chunk)
		}
		cited := slices.Clone(said.Chunks)
		said.Chunks = unique(append(said.Chunks, q.saidChunks()...))
		asked := q.Text
		if q.asked != "" {
			asked = q.asked
		}
		if err := a.Keep(func() error {
			// What earlier turns rest on may have been replaced since, but not forgotten.
			if now, err := a.Knowledge.Chunks(q.Space, cited); err != nil || len(now) < len(cited) {
				return errGone
			}
			if now, ok := a.Conversations.Head(q.Space, d.ID); !ok || now.Forgotten != d.Forgotten { // the prompt had what is gone
				return errGone
			}
			_, err := a.Conversations.Append(q.Space, d.ID, conversation.Turn{Role: conversation.User, Text: asked}, said)
			return err
		}); err != nil {
			note := "the question and its answer were not added to the conversation"
			if fault.KindOf(err) == fault.Conflict && !errors.Is(err, errGone) {
				note += ", which is full; begin another"
			}
			answer.addNote(note)
			a.Logger.Warn("a conversation was not continued", "space", q.Space, "kind", fault.KindOf(err))
			return
		}
	}
	a.Prepare(q.Space, d.ID)
}

// addNote copies the notes first: all followers of a flight share its answer.
func (a *Answer) addNote(note string) { a.Notes = append(slices.Clip(a.Notes), note) }

// saidChunks are those that the turns rest on which an answer may repeat.
func (q *Question) saidChunks() []percached.ChunkID {
	if len(q.Earlier) == 0 && q.asked == "" {
		return nil
	}
	return q.said
}

func unique(ids []percached.ChunkID) (out []percached.ChunkID) {
	seen := map[percached.ChunkID]bool{}
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// Prepare makes the summary of a conversation if one is due, and computes the tensors of
// what its next prompt contains, in the background. Questions interrupt it; then the next
// question's end begins it again. The channel is closed when it ends.
func (a *Asker) Prepare(space string, id conversation.ID) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ended, ok := a.preparing[id]; ok {
		return ended
	}
	ended := make(chan struct{})
	if a.closed {
		close(ended)
		return ended
	}
	a.preparing[id] = ended
	a.running.Go(func() {
		defer close(ended)
		err := a.prepare(space, id)
		a.mu.Lock()
		delete(a.preparing, id)
		a.mu.Unlock()
		if err != nil && fault.KindOf(err) == fault.Internal && !errors.Is(err, percached.ErrPreempted) {
			a.Logger.Warn("a conversation was not prepared", "space", space, "error", err)
		}
	})
	return ended
}

func (a *Asker) prepare(space string, id conversation.ID) error {
	ctx, f, err := a.beginWork(context.Background())
	if err != nil {
		return err
	}
	defer a.endWork(f)
	q := Question{Space: space, Conversation: percached.ChunkID(id)}
	d, err := a.openDialog(&q)
	if err != nil {
		return err
	}
	summary, failed := a.summarise(ctx, q, d)
	if errors.Is(failed, percached.ErrPreempted) {
		return failed
	}
	q.summary = summary.Text
	return cmp.Or(a.fillDialog(ctx, q, d.seq), failed)
}

// summarise returns the summary of a conversation, a new one if one is due. It is made of
// the last one and of what left the window since, in the engine's only context: that is
// empty before and after each run, so that a summary takes no memory from the conversation.
func (a *Asker) summarise(ctx context.Context, q Question, d dialog) (conversation.Summary, error) {
	all := exchanges(q.Earlier)
	start := windowStart(all, a.window())
	if start == 0 || start == len(all) {
		return d.Summary, nil
	}
	through := d.turns[all[start].turn].Number
	var left []string
	size := 0
	for _, e := range all[:start] {
		if d.turns[e.turn].Number >= d.Summary.Through {
			left = append(left, e.text)
			size += len(e.text)
		}
	}
	if size < min(summaryAfter*bytesPerToken, a.window()) {
		return d.Summary, nil
	}
	var err error
	text := keptStatements(d.Summary.Text, q.Earlier[:all[start].turn], summaryTokens*bytesPerToken)
	if info := a.Engine.Info(); info.Large() {
		if text, err = a.writeSummary(ctx, d.Summary.Text, left); err != nil {
			return d.Summary, err
		}
	}
	err = a.Keep(func() error { return a.Conversations.Summarise(q.Space, d.Conversation, text, through) })
	return conversation.Summary{Text: text, Through: through}, err
}

// writeSummary has the model write a summary of the last one and of exchanges. If it writes
// nothing, the last one stays.
func (a *Asker) writeSummary(ctx context.Context, last string, left []string) (string, error) {
	info := a.Engine.Info()
	ask := strings.TrimSpace(summaryPrompt) + "\n\n"
	if last != "" {
		ask += "Before that: " + last + "\n\n"
	}
	ask += strings.Join(sample(left, a.window()/2), "") + "Summary:"
	res, err := a.Engine.Generate(ctx, percached.Prompt{
		Segments: info.Chat.Turn(ask), Priority: percached.Background, MaxTokens: summaryTokens, Stop: info.Chat.Stop, EndLoops: true,
	}, nil)
	if err != nil {
		return "", interruption(ctx, err)
	}
	if res.Finish == percached.FinishThought {
		return last, nil
	}
	return cmp.Or(strings.TrimSpace(res.Text), last), nil
}

// keptStatements is a summary without a model: what the user said of themselves, a line each,
// in at most so many bytes. Three quarters are for what was said first.
func keptStatements(last string, turns []Turn, limit int) string {
	var lines []string
	if last != "" {
		lines = strings.Split(last, "\n")
	}
	for _, t := range turns {
		text := strings.Join(strings.Fields(t.Text), " ")
		if t.Role == RoleUser && len(text) < limit/4 && states(text) && isOwn(bareWords(text)) && !slices.Contains(lines, text) {
			lines = append(lines, text)
		}
	}
	size, first := 0, 0
	for first < len(lines) && size+len(lines[first]) < limit*3/4 {
		size += len(lines[first]) + 1
		first++
	}
	latest := len(lines)
	for latest > first && size+len(lines[latest-1]) < limit {
		latest--
		size += len(lines[latest]) + 1
	}
	return strings.Join(append(lines[:first:first], lines[latest:]...), "\n")
}

// sample returns texts of at most so many bytes together: of the first quarter, of the last,
// and evenly of those between, a third each. A text that is too long for its part is cut.
func sample(all []string, limit int) (texts []string) {
	quarter := (len(all) + 3) / 4
	first, last := all[:quarter], all[max(quarter, len(all)-quarter):]
	between := all[quarter : len(all)-len(last)]
	for i, part := range [][]string{first, between, last} {
		left, mean := limit/3, 1
		for _, t := range part {
			mean += len(t) / len(part)
		}
		if n := max(1, left/mean); i == 1 && n < len(part) {
			var some []string
			for j := range n {
				some = append(some, part[j*len(part)/n])
			}
			part = some
		}
		for _, t := range part {
			if left <= 0 {
				break
			}
			texts = append(texts, strings.ToValidUTF8(t[:min(len(t), left)], ""))
			left -= len(t)
		}
	}
	return texts
}

// fillDialog computes and stores the tensors of a conversation's turns that are not stored.
func (a *Asker) fillDialog(ctx context.Context, q Question, seq uint64) error {
	set, err := a.Settings(q.Space)
	if err != nil || !set.Tensors || a.Engine.Info().NoSlices != "" {
		return err
	}
	r, p := a.newRequest(q, set, &Work{Prefill: true}), a.newProgress(nil)
	plan, err := planPrompt(a.Engine, r.Question, set, percached.Background, nil)
	if err != nil || len(plan.talk.lead) == 0 {
		return err
	}
	plan.talk.tells = true
	answer, made, err := a.generate(ctx, r, plan, a.matchTensors(r, plan, p), nil, p)
	_, _, failed := a.store(ctx, r, draft{Answer: answer, found: retrieved{seq: seq}, made: made}, false, p)
	return cmp.Or(interruption(ctx, err), failed)
}
