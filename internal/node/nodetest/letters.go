package nodetest

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/knowledgebank"
)

// Space is the space of the letters.
const Space = "life"

// Names are the names of the projects.
func Names() []string {
	return []string{"Heron", "Otter", "Lark", "Birch", "Cedar", "Delta", "Ember", "Fjord", "Gable", "Hazel", "Iris", "Juno"}
}

func leaders() []string {
	return []string{"Ana Ruiz", "Bo Lind", "Cleo Marsh", "Dan Oyelaran", "Eva Brandt"}
}

// Open opens a node with a space that holds all letters.
func Open(t *testing.T, c node.Options) *node.Node {
	t.Helper()
	ctx := context.Background()
	s, err := node.Open(ctx, c, true, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Knowledge.CreateSpace(percached.Space{Name: Space, Kind: "emails"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Library.Add(ctx, Space, Letters, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// Letters emits all letters.
func Letters(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
	for i := range Names() {
		if err := emit(Letter(i, 0)); err != nil {
			return err
		}
	}
	return nil
}

// Letter is a mail about a project; editions differ in one paragraph.
func Letter(i, edition int) *knowledgebank.Source {
	name, leaders := Names()[i], leaders()
	return &knowledgebank.Source{
		Key: "mail:" + name, Title: name, Source: "mail from " + leaders[i%5], Format: "mail",
		Date: time.Date(2025, 2, 1+i, 9, 0, 0, 0, time.UTC),
		Blocks: []knowledgebank.Block{
			{Text: fmt.Sprintf("Hello all, the budget for %s is $%d,000. It was agreed on last week, and nobody spoke against it. Please keep the receipts.", name, 10+7*i)},
			{Text: fmt.Sprintf("The project %s begins on %d March. %s leads it, and the office in the harbour is ours for the whole time.", name, 1+(i*5+edition)%28, leaders[(i+edition)%5])},
			{Text: fmt.Sprintf("The code of %s is %d. Do not write it on the door again, and tell the others where the keys are.", name, 4000+313*i)},
		},
	}
}
