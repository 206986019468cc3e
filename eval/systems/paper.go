package systems

import (
	_ "embed"
	"strings"

	"github.com/percached/percached/api/client"
)

// The prompts are those of the paper's figures 26 to 28. They are also percached's own for
// models that follow them; the paper's systems use them with every model.
//
//go:embed prompts/abstract.txt
var abstractPrompt string

//go:embed prompts/knowledge.txt
var knowledgePrompt string

//go:embed prompts/history.txt
var historyPrompt string

// papersPrompts predicts as the paper does, whatever the model.
func papersPrompts(s *client.Settings) {
	text := func(prompt string) *string { return new(strings.TrimSpace(prompt)) }
	s.Prompts = &client.Prompts{Abstract: text(abstractPrompt), Knowledge: text(knowledgePrompt), History: text(historyPrompt)}
}
