package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/conversation"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/qabank"
)

// victim is a data folder on which percached is killed again and again.
type victim struct {
	*testing.T
	rng     *rand.Rand
	data    string
	inbox   string
	there   map[string]bool // documents that were acknowledged, by title
	unsure  map[string]bool // whose command was killed: there or not
	answers map[string]bool // questions that were answered
	talk    string          // a conversation
	said    int             // turns of it that were acknowledged
	killed  map[string]int  // by command
	ended   map[string]int
	took    map[string]time.Duration // of the last that was not killed
	ids     percached.PublicIDs      // of the space, once it was looked at
}

func TestKill(t *testing.T) {
	kills := 200
	if testing.Short() {
		kills = 12
	}
	// Half of them on an encrypted folder.
	t.Run("plain", func(t *testing.T) { kill(t, filepath.Join(t.TempDir(), "data"), kills/2) })
	t.Run("encrypted", func(t *testing.T) { kill(t, encryptedData(t), kills/2) })
}

func kill(t *testing.T, data string, kills int) {
	v := &victim{
		T: t, rng: rand.New(rand.NewPCG(1, 9)), data: data, inbox: t.TempDir(),
		there: map[string]bool{}, unsure: map[string]bool{}, answers: map[string]bool{}, killed: map[string]int{}, ended: map[string]int{},
		took: map[string]time.Duration{},
	}
	for sum := 0; sum < kills && !v.Failed(); {
		v.step()
		before := sum
		if sum = v.killed["add"] + v.killed["ask"] + v.killed["evict"] + v.killed["converse"] + v.killed["delete"]; sum > before && (sum%4 == 0 || sum == kills) {
			v.examine(fmt.Sprintf("after %d kills", sum))
		}
	}
	t.Log("killed", v.killed, "ended", v.ended)
}

// run runs a command and kills it within the time that the last one of its kind took. ok says
// that it ended before. The first of a kind is not killed.
func (v *victim) run(what string, args ...string) (stdout string, ok bool) {
	v.Helper()
	exe, err := os.Executable()
	if err != nil {
		v.Fatal(err)
	}
	ctx := context.Background()
	if within := v.took[what]; within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(v.rng.Int64N(int64(within)*5/4)))
		defer cancel()
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, exe, append(args, "--data", v.data)...)
	cmd.Args[0] = "percached" // as testscript.Main knows the command
	cmd.Env = append(os.Environ(), "HOME="+v.inbox)
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		v.took[what] = time.Since(began)
		v.ended[what]++
		return out.String(), true
	case errors.As(err, &exit) && exit.ExitCode() == -1: // a signal
		v.killed[what]++
	case ctx.Err() == nil || exit != nil:
		v.Errorf("percached %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return "", false
}

func (v *victim) step() {
	v.Helper()
	switch n := v.rng.IntN(11); {
	case n < 4:
		v.add()
	case n < 7:
		v.ask("ask", 1<<30)
	case n < 8:
		v.ask("evict", (1+v.rng.IntN(4))<<20)
	case n < 9:
		v.converse()
	default:
		v.delete()
	}
}

func (v *victim) ask(what string, limit int) {
	v.Helper()
	q := fmt.Sprintf("What is the budget for %s?", nodetest.Names()[v.rng.IntN(len(nodetest.Names()))])
	out, ok := v.run(what, "ask", q, "--json", "--threads", "1", "--max-tokens", "8", "--tensor-limit", fmt.Sprint(limit))
	if ok && strings.Contains(out, `"quote"`) { // from nothing, nothing is stored
		v.answers[q] = true
	}
}

// converse goes on with a conversation.
func (v *victim) converse() {
	v.Helper()
	if v.talk == "" {
		out, ok := v.run("converse", "conversations", "new")
		if ok {
			v.talk = strings.TrimSpace(out)
		}
		return
	}
	name := nodetest.Names()[v.rng.IntN(len(nodetest.Names()))]
	if _, ok := v.run("converse", "ask", "And what is the budget for "+name+"?", "--conversation", v.talk, "--json", "--threads", "1", "--max-tokens", "8"); ok {
		v.said += 2
	}
}

// add adds a few documents, some of them known.
func (v *victim) add() {
	v.Helper()
	var files, titles []string
	for range 1 + v.rng.IntN(6) {
		title := fmt.Sprintf("%s %d", nodetest.Names()[v.rng.IntN(len(nodetest.Names()))], v.rng.IntN(6))
		file := filepath.Join(v.inbox, strings.ReplaceAll(title, " ", "-")+".md")
		s := nodetest.Letter(v.rng.IntN(len(nodetest.Names())), v.rng.IntN(3))
		var body strings.Builder
		fmt.Fprintf(&body, "# %s\n\n", title)
		for _, b := range s.Blocks {
			fmt.Fprintf(&body, "%s\n\n", b.Text)
		}
		if err := os.WriteFile(file, []byte(body.String()), 0o600); err != nil {
			v.Fatal(err)
		}
		files, titles = append(files, file), append(titles, title)
	}
	if _, ok := v.run("add", append([]string{"add"}, files...)...); !ok {
		for _, t := range titles {
			if !v.there[t] {
				v.unsure[t] = true
			}
		}
		return
	}
	for _, t := range titles {
		v.there[t] = true
		delete(v.unsure, t)
	}
}

func (v *victim) delete() {
	v.Helper()
	if len(v.there) == 0 {
		return
	}
	titles := make([]string, 0, len(v.there))
	for t := range v.there {
		titles = append(titles, t)
	}
	slices.Sort(titles)
	title := titles[v.rng.IntN(len(titles))]
	if v.ids == (percached.PublicIDs{}) {
		v.examine("before the first is deleted")
	}
	id := v.ids.Document(percached.NewDocumentID("file:" + filepath.Join(v.inbox, strings.ReplaceAll(title, " ", "-")+".md")))
	delete(v.there, title)
	v.unsure[title] = true
	if _, ok := v.run("delete", "documents", "delete", id.String()); ok {
		delete(v.unsure, title)
	}
	clear(v.answers) // which of them rested on it is not known here
	v.said = 0
}

// examine opens the folder like the next process.
func (v *victim) examine(when string) {
	v.Helper()
	c := node.Default()
	c.Create, c.Data, c.Threads, c.KeyFile = true, v.data, 1, os.Getenv("PERCACHED_KEY_FILE")
	s, err := node.Open(context.Background(), c, true, io.Discard)
	if err != nil {
		v.Fatalf("%s: %v", when, err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			v.Errorf("%s: %v", when, err)
		}
	}()
	if _, err := s.Knowledge.Space(link.DefaultSpace); err != nil {
		if len(v.there) > 0 {
			v.Errorf("%s: %v", when, err)
		}
		return
	}
	if v.ids, err = s.Knowledge.PublicIDs(link.DefaultSpace); err != nil {
		v.Errorf("%s: %v", when, err)
	}
	docs, err := s.Knowledge.Documents(link.DefaultSpace, percached.DocumentID{}, 1000)
	if err != nil {
		v.Fatalf("%s: %v", when, err)
	}
	titles := map[string]bool{}
	for _, d := range docs {
		titles[d.Title] = true
		if !v.there[d.Title] && !v.unsure[d.Title] {
			v.Errorf("%s: %s was deleted and is there", when, d.Title)
		}
		chunks, err := s.Knowledge.Chunks(link.DefaultSpace, d.Chunks)
		if err != nil || len(chunks) != len(d.Chunks) || len(chunks) == 0 {
			v.Errorf("%s: %s has %d of %d chunks, %v", when, d.Title, len(chunks), len(d.Chunks), err)
		}
	}
	for t := range v.there {
		if !titles[t] {
			v.Errorf("%s: %s was acknowledged and is not there", when, t)
		}
	}
	// What is there now is settled; what is not, unless an upload waits that may bring it.
	waiting, err := filepath.Glob(filepath.Join(v.data, "inbox", "*.spool"))
	if err != nil {
		v.Fatal(err)
	}
	for t := range v.unsure {
		if titles[t] {
			v.there[t] = true
		}
		if titles[t] || len(waiting) == 0 {
			delete(v.unsure, t)
		}
	}
	st, err := s.Knowledge.Stats(link.DefaultSpace)
	ix, err2 := s.Index.Stats(link.DefaultSpace)
	if err := errors.Join(err, err2); err != nil || ix.Chunks != st.Chunks || ix.Vectors != st.Chunks {
		v.Errorf("%s: %d chunks, %d indexed, %d vectors; %v", when, st.Chunks, ix.Chunks, ix.Vectors, err)
	}
	if rep, err := s.Tree.Verify(context.Background()); err != nil || !rep.Clean() {
		v.Errorf("%s: the tree: %+v, %v", when, rep, err)
	}
	for q := range v.answers {
		if _, ok, err := s.Bank.Exact(link.DefaultSpace, q); !ok || err != nil {
			v.Errorf("%s: the answer to %q is not there, %v", when, q, err)
		}
	}
	if err := s.Bank.Each(link.DefaultSpace, func(e qabank.Entry) error {
		if !e.Answered || e.Answer == "" {
			v.Errorf("%s: half an answer to %q", when, e.Question)
		}
		return nil
	}); err != nil {
		v.Errorf("%s: %v", when, err)
	}
	if v.talk != "" {
		v.examineTalk(s, when)
	}
	if len(docs) > 0 {
		if _, err := s.Asker.Ask(context.Background(), answer.Question{Space: link.DefaultSpace, Text: "Who leads Heron?"}, answer.Listener{}); err != nil {
			v.Errorf("%s: %v", when, err)
		}
	}
}

func (v *victim) examineTalk(s *node.Node, when string) {
	v.Helper()
	id, err := conversation.ParseID(v.talk)
	if err != nil {
		v.Fatal(err)
	}
	c, turns, err := s.Conversations.Get(link.DefaultSpace, id)
	if err != nil || len(turns) < v.said || len(turns)%2 != 0 {
		v.Errorf("%s: the conversation has %d turns, %d were acknowledged; %v", when, len(turns), v.said, err)
	}
	for i := 1; i < len(turns); i++ {
		if turns[i].Number <= turns[i-1].Number {
			v.Errorf("%s: turn %d stands behind %d of %s", when, turns[i].Number, turns[i-1].Number, c.ID)
		}
	}
}
