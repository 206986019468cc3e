package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/selftest"
	"github.com/percached/percached/llm/llamacpp"
)

// answers has the options of bench answers.
type answers struct {
	model   string
	kv      string
	threads int
	context int
	forms   bool
}

// promptLine is one line of input.
type promptLine struct {
	Instructions string   `json:"instructions"`
	Chunks       []string `json:"chunks"`
	Question     string   `json:"question"`
	Placement    string   `json:"placement"` // default: sequential
	MaxTokens    int      `json:"max_tokens"`
}

// answerLine is one line of output.
type answerLine struct {
	Answer    string           `json:"answer"` // the unchanged output of the model
	Finish    percached.Finish `json:"finish"`
	Prompt    int              `json:"prompt_tokens"`
	Generated int              `json:"generated_tokens"`
	Prefill   time.Duration    `json:"prefill_ns"`
	Decode    time.Duration    `json:"decode_ns"`
	Forms     []formAnswer     `json:"forms,omitempty"` // with packed chunks
	Error     string           `json:"error,omitempty"`
}

const answersTokens = 64 // default length of an answer

func answersCommand(open selftest.Opener) *cobra.Command {
	var o answers
	cmd := &cobra.Command{
		Use:   "answers",
		Short: "Answer prompts from standard input with the bare model",
		Long: `Reads one JSON object a line from standard input: instructions, chunks (a list of
texts), question, placement (sequential or parallel) and max_tokens. Without
instructions and chunks, the prompt is the question alone. Writes one JSON object for
each line: the greedy answer of the model, token counts and times. It neither stores nor
reuses anything. With --forms it also answers from packed tensors of the chunks, and
compares.`,
		Args:    cobra.NoArgs,
		Example: `  percached-eval bench answers < questions.jsonl > answers.jsonl`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := parseType(o.kv); err != nil {
				return err
			}
			return o.run(cmd.Context(), open, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.model, "model", "", "GGUF file of the model (default: the built-in model)")
	f.StringVar(&o.kv, "kv", "f16", "Type of keys and values: f16, q8_0 or q4_0")
	f.IntVar(&o.threads, "threads", runtime.GOMAXPROCS(0), "Number of compute threads")
	f.BoolVar(&o.forms, "forms", false, "Also answer with the chunks' tensors packed, in each form")
	f.IntVar(&o.context, "context", llamacpp.Default().Context, "Context length in tokens")
	return cmd
}

func (o *answers) run(ctx context.Context, open selftest.Opener, in io.Reader, out, stderr io.Writer) error {
	if o.model == "" {
		var err error
		if o.model, err = selftest.BuiltIn(); err != nil {
			return err
		}
	}
	c := llamacpp.Default()
	c.Model, c.KeyType, c.ValueType, c.Threads, c.Context = o.model, o.kv, o.kv, o.threads, o.context
	e, err := selftest.Load(ctx, open, c, stderr)
	if err != nil {
		return err
	}
	defer e.Close()
	tallies := map[percached.Form]formTally{}
	defer func() { tellForms(stderr, tallies) }()
	lines, w := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for n := 1; ; n++ {
		var a promptLine
		switch err := lines.Decode(&a); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return cmdline.Misusef("prompt %d: %v", n, err)
		}
		p, err := a.prompt(e.Info().Chat)
		if err != nil {
			return cmdline.Misusef("prompt %d: %v", n, err)
		}
		if o.forms {
			p = selftest.WithCapture(p)
			p.Logits = true
		}
		r, err := e.Generate(ctx, p, nil)
		var forms []formAnswer
		if err == nil && o.forms {
			forms, err = compareForms(ctx, e, p, r)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, f := range forms {
			t := tallies[f.Form]
			t.n, t.loss = t.n+1, t.loss+f.Loss
			if f.Same {
				t.same++
			}
			tallies[f.Form] = t
		}
		line := answerLine{
			Answer: r.Text, Finish: r.Finish, Prompt: r.Usage.Prompt, Generated: r.Usage.Generated,
			Prefill: r.Times.Prefill, Decode: r.Times.Decode, Forms: forms,
		}
		if err != nil {
			line.Error = cmdline.Sentence(err)
		}
		if err := w.Encode(line); err != nil {
			return err
		}
	}
}

func (a *promptLine) prompt(f percached.ChatFormat) (percached.Prompt, error) {
	p := percached.Prompt{MaxTokens: answersTokens, Segments: f.Turn(a.Question)}
	if a.MaxTokens > 0 {
		p.MaxTokens = a.MaxTokens
	}
	if a.Instructions != "" || len(a.Chunks) > 0 {
		p.Segments = f.Ask(a.Instructions, a.Chunks, a.Question)
	}
	if a.Placement == "" {
		return p, nil
	}
	var err error
	p.Placement, err = parsePlacement(a.Placement)
	return p, err
}
