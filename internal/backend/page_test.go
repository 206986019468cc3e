package backend

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/conversation"
	"github.com/percached/percached/internal/node/nodetest"
)

// Every list can be read in pages of any size, and the pages together are the whole list.
func TestPages(t *testing.T) {
	f := scriptedBackend(t)
	b, ctx := f.API(), t.Context()
	f.askAll(t)
	f.Asker.Settle() // the slices of the answers are stored
	in := api.InSpace{Space: nodetest.Space}
	for i := range 5 {
		given[api.UploadStatus](t)(b.Upload(ctx, api.Upload{Space: nodetest.Space, Wait: true, Each: files(fmt.Sprint(i, ".txt"), fmt.Sprint("Number ", i))}))
		given[api.Conversation](t)(b.CreateConversation(ctx, api.NewConversation{InSpace: in, NewConversationBody: api.NewConversationBody{Title: fmt.Sprint(i)}}))
	}
	talk := given[api.Conversations](t)(b.Conversations(ctx, api.Page{InSpace: in, Limit: 1})).Conversations[0]
	one := api.OneConversation{InSpace: in, Conversation: talk.ID}
	for i := range 5 {
		given[api.Conversation](t)(b.AddTurns(ctx, api.NewTurns{OneConversation: one, NewTurnsBody: api.NewTurnsBody{Turns: []api.NewTurn{{Role: "user", Text: fmt.Sprint(i)}}}}))
	}
	<-f.Asker.Prepare(nodetest.Space, given[conversation.ID](t)(conversationID(talk.ID))) // its slices are stored
	for name, list := range map[string]struct {
		page     func(api.Page) (items []string, next string, err error)
		backward bool // each page is before the one that names it
	}{
		"history": {func(p api.Page) (items []string, next string, err error) {
			got, err := b.History(ctx, p)
			for _, q := range got.Questions {
				items = append(items, q.Question)
			}
			return items, got.Next, err
		}, true},
		"uploads": {func(p api.Page) (items []string, next string, err error) {
			got, err := b.Uploads(ctx, p)
			for _, u := range got.Uploads {
				items = append(items, u.ID)
			}
			return items, got.Next, err
		}, false},
		"conversations": {func(p api.Page) (items []string, next string, err error) {
			got, err := b.Conversations(ctx, p)
			for _, c := range got.Conversations {
				items = append(items, c.ID)
			}
			return items, got.Next, err
		}, false},
		"turns": {func(p api.Page) (items []string, next string, err error) {
			got, err := b.Conversation(ctx, api.TurnsPage{OneConversation: one, Limit: p.Limit, After: p.After})
			for _, turn := range got.Turns {
				items = append(items, turn.Text)
			}
			return items, got.Next, err
		}, true},
		"slices": {func(p api.Page) (items []string, next string, err error) {
			got, err := b.Tree(ctx, p)
			for _, s := range got.Slices {
				items = append(items, s.Path)
			}
			if got.More != (got.Next != "") {
				t.Errorf("more is %v beside next %q", got.More, got.Next)
			}
			return items, got.Next, err
		}, false},
	} {
		whole, next, err := list.page(api.Page{InSpace: in, Limit: 1000})
		if err != nil || next != "" || len(whole) < 2 {
			t.Fatalf("%s: %v, next %q, %v", name, whole, next, err)
		}
		for _, limit := range []int{1, 2, len(whole) - 1, len(whole)} {
			var all []string
			for p := (api.Page{InSpace: in, Limit: limit}); ; {
				items, next, err := list.page(p)
				if err != nil || len(items) > limit || next != "" && len(items) < limit {
					t.Fatalf("%s by %d: %d items, next %q, %v", name, limit, len(items), next, err)
				}
				if list.backward {
					all = slices.Concat(items, all)
				} else {
					all = append(all, items...)
				}
				if p.After = next; next == "" {
					break
				}
			}
			if d := cmp.Diff(whole, all); d != "" {
				t.Errorf("%s by %d (-whole +pages):\n%s", name, limit, d)
			}
		}
		if _, _, err := list.page(api.Page{InSpace: in, Limit: 1, After: "nothing"}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: a cursor of no page: %v", name, err)
		}
	}
}

// Documents are found by source, format and date.
func TestDocumentFilters(t *testing.T) {
	f := scriptedBackend(t)
	b, ctx := f.API(), t.Context()
	const space = "filtered"
	given[api.Space](t)(b.CreateSpace(ctx, api.NewSpace{Name: space}))
	mail := func(from, subject, date string) string {
		return "From: " + from + " <x@example.com>\nSubject: " + subject + "\nDate: " + date + "\n\nIt runs, says " + subject + "."
	}
	given[api.UploadStatus](t)(b.Upload(ctx, api.Upload{Space: space, Wait: true, Each: files(
		"1.eml", mail("Ana Ruiz", "early", "Mon, 03 Feb 2025 23:30:00 -0800"),
		"2.eml", mail("Zoe Lind", "late", "Fri, 07 Mar 2025 12:00:00 +0000"),
		"3.md", "# undated\n\nNothing.",
	)}))
	for _, tc := range []struct {
		source, format, since, until, want string
	}{
		{"", "", "", "", "early late undated"},
		{"RUIZ", "", "", "", "early"},
		{"", "mail", "", "", "early late"},
		{"", "markdown", "", "", "undated"},
		{"", "pdf", "", "", ""},
		{"", "", "2025-02-03", "", "early late"}, // the day of the sender
		{"", "", "2025-02-04", "", "late"},
		{"", "", "2025-02-04T07:00:00Z", "", "early late"},
		{"", "", "", "2025-02-03", "early"},
		{"", "", "", "2025-03-07T11:59:59Z", "early"},
		{"", "", "2025-03-07", "2025-03-07", "late"},
		{"lind", "mail", "2025-03-08", "", ""},
	} {
		p := api.DocumentPage{Page: api.Page{InSpace: api.InSpace{Space: space}, Limit: 10}, Source: api.Words(tc.source), Format: api.Given(tc.format)}
		for text, m := range map[string]*api.Moment{tc.since: &p.Since, tc.until: &p.Until} {
			if text != "" {
				if err := m.UnmarshalText([]byte(text)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if tc.since == tc.until {
			p.Since = p.Until
		}
		var got []string
		for _, d := range given[api.Documents](t)(b.Documents(ctx, p)).Documents {
			got = append(got, d.Title)
		}
		slices.Sort(got)
		if text := fmt.Sprint(got); text != "["+tc.want+"]" {
			t.Errorf("%+v: %s", tc, text)
		}
	}
}
