package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/knowledgebank/reader"
	"github.com/percached/percached/qabank/likeness"
	"github.com/percached/percached/retrieval"
)

// considered is how many stored questions are compared with an asked one, as in the gate.
const considered = 4

// likenessPair is a line of the input.
type likenessPair struct {
	ID          string  `json:"id"`
	World       string  `json:"world"` // the space
	Bank        string  `json:"bank"`  // the stored questions that it belongs to; "": those of its space
	Stored      string  `json:"stored"`
	Answer      string  `json:"answer"`
	Asked       string  `json:"asked"`
	AskedAnswer *string `json:"asked_answer"` // nil: there is none
	Kind        string  `json:"kind"`
}

// likenessLine is a line of the output: an asked question and a stored one.
type likenessLine struct {
	ID      string    `json:"id"`
	World   string    `json:"world"`
	Bank    string    `json:"bank"`
	Kind    string    `json:"kind"`   // as in the input; other: the paraphrase is asked although its stored question is not there
	Own     bool      `json:"own"`    // the stored question is that of the input's line
	Right   bool      `json:"right"`  // the stored answer is the asked question's
	Proven  bool      `json:"proven"` // the two questions are provably the same
	Asked   string    `json:"asked"`
	Stored  string    `json:"stored"`
	Score   float64   `json:"score"`
	Similar float64   `json:"similarity"`
	X       []float64 `json:"x"`               // the features
	Names   []string  `json:"names,omitempty"` // theirs, on the first line
}

func likenessCommand() *cobra.Command {
	var embedModel string
	var spaces []string
	cmd := &cobra.Command{
		Use:   "likeness FILE...",
		Short: "Compare asked questions with stored ones, to fit and to judge the gate",
		Long: `Reads pairs of a stored and an asked question, one JSON object a line: id, world, bank,
stored, answer, asked, asked_answer, kind. All stored questions of a world and bank stand in the bank
together. For each asked question it prints the nearest stored ones, one JSON object a
line: whether the answer is right, the features of the two questions, and their score. A
paraphrase is also asked as if its own stored question were not there.`,
		Args: cobra.MinimumNArgs(1),
		Example: `  percached-eval likeness --space demo=models/demo/inbox.mbox --space demo=models/demo/meetings \
    --space second=qabank/testdata/heldout/world.mbox qabank/testdata/heldout/pairs.jsonl`,
		RunE: func(cmd *cobra.Command, files []string) error {
			return printLikeness(cmd.Context(), cmd.OutOrStdout(), embedModel, spaces, files)
		},
	}
	f := cmd.Flags()
	f.StringVar(&embedModel, "embed-model", "", "Embedding model; empty: the built-in one")
	f.StringSliceVar(&spaces, "space", nil, "World and its documents, as NAME=PATH; more paths by more flags")
	return cmd
}

// printLikeness opens a node with the documents and prints all lines.
func printLikeness(ctx context.Context, w io.Writer, embedModel string, spaces, files []string) (err error) {
	dir, err := os.MkdirTemp("", "percached-likeness-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := node.Default()
	c.Data, c.Create, c.EmbedModel = dir, true, embedModel
	n, err := node.Open(ctx, c, false, io.Discard)
	if err != nil {
		return err
	}
	defer n.Close()
	pairs, err := readLikenessPairs(files)
	if err != nil {
		return err
	}
	if err := addWorlds(ctx, n, spaces); err != nil {
		return err
	}
	set, err := n.Settings(c.Config)
	if err != nil {
		return err
	}
	l := likenessBench{
		node: n, k: set.K, threshold: set.Threshold, model: likeness.For(n.Embedder.Info(), set.Threshold),
		vectors: map[string][]float32{}, questions: map[string]likeness.Question{}, banks: map[string][]likenessPair{},
	}
	for _, p := range pairs {
		if b := p.World + "/" + p.Bank; !slices.ContainsFunc(l.banks[b], func(o likenessPair) bool { return o.Stored == p.Stored }) {
			l.banks[b] = append(l.banks[b], p)
		}
	}
	out := json.NewEncoder(w)
	names := likeness.Names()
	for _, p := range pairs {
		lines, err := l.compare(ctx, p)
		if err != nil {
			return err
		}
		for _, line := range lines {
			line.Names, names = names, nil
			if err := out.Encode(line); err != nil {
				return err
			}
		}
	}
	return nil
}

func readLikenessPairs(files []string) (all []likenessPair, err error) {
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		for sc := bufio.NewScanner(f); sc.Scan(); {
			var p likenessPair
			if err := json.Unmarshal(sc.Bytes(), &p); err != nil {
				return nil, fault.New(fault.Invalid, "percached-eval: likeness", "%s: %w", name, err)
			}
			all = append(all, p)
		}
	}
	return all, nil
}

// addWorlds makes the spaces and adds their documents.
func addWorlds(ctx context.Context, n *node.Node, spaces []string) error {
	rd, err := reader.New(reader.Default())
	if err != nil {
		return err
	}
	made := map[string]bool{}
	for _, s := range spaces {
		name, path, ok := strings.Cut(s, "=")
		if !ok {
			return cmdline.Misusef("--space %s: write NAME=PATH", s)
		}
		if !made[name] {
			made[name] = true
			if err := n.Knowledge.CreateSpace(percached.Space{Name: name, Kind: "emails"}); err != nil {
				return err
			}
		}
		_, err := n.Library.Add(ctx, name, func(ctx context.Context, emit func(*knowledgebank.Source) error, failed func(string, error)) error {
			return rd.Path(ctx, path, emit, failed)
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// likenessBench compares questions as the gate does.
type likenessBench struct {
	node      *node.Node
	k         int
	threshold float64
	model     *likeness.Model
	vectors   map[string][]float32
	questions map[string]likeness.Question // by world and text
	banks     map[string][]likenessPair
}

func (l *likenessBench) vector(ctx context.Context, text string) ([]float32, error) {
	if v, ok := l.vectors[text]; ok {
		return v, nil
	}
	vs, err := l.node.QuestionEmbedder.Embed(ctx, percached.Foreground, []string{text})
	if err != nil {
		return nil, err
	}
	l.vectors[text] = vs[0]
	return vs[0], nil
}

func (l *likenessBench) similarity(ctx context.Context, a, b string) (float64, error) {
	x, err := l.vector(ctx, a)
	if err != nil {
		return 0, err
	}
	y, err := l.vector(ctx, b)
	if err != nil {
		return 0, err
	}
	return float64(percached.Dot(x, y)), nil
}

func (l *likenessBench) question(ctx context.Context, world, text string) (likeness.Question, error) {
	key := world + "\x00" + text
	if q, ok := l.questions[key]; ok {
		return q, nil
	}
	v, err := l.vector(ctx, text)
	if err != nil {
		return likeness.Question{}, err
	}
	hits, err := l.node.Index.Search(ctx, retrieval.Query{Space: world, Text: text, Vector: v, K: l.k})
	if err != nil {
		return likeness.Question{}, err
	}
	q := likeness.Question{Text: text}
	for _, h := range hits {
		q.Chunks = append(q.Chunks, h.Chunk)
	}
	l.questions[key] = q
	return q, nil
}

// compare makes the lines of one pair.
func (l *likenessBench) compare(ctx context.Context, p likenessPair) (lines []likenessLine, err error) {
	lines, err = l.nearest(ctx, p, p.Kind, func(o likenessPair) bool { return true })
	if err != nil || p.Kind != "paraphrase" {
		return lines, err
	}
	more, err := l.nearest(ctx, p, "other", func(o likenessPair) bool { return o.Stored != p.Stored })
	return append(lines, more...), err
}

// nearest compares the asked question with the nearest stored ones that stand in the bank.
func (l *likenessBench) nearest(ctx context.Context, p likenessPair, kind string, stands func(likenessPair) bool) ([]likenessLine, error) {
	type near struct {
		likenessPair
		similarity float64
	}
	var all []near
	for _, o := range l.banks[p.World+"/"+p.Bank] {
		if !stands(o) {
			continue
		}
		s, err := l.similarity(ctx, p.Asked, o.Stored)
		if err != nil {
			return nil, err
		}
		all = append(all, near{o, s})
	}
	slices.SortFunc(all, func(x, y near) int {
		return cmp.Or(cmp.Compare(y.similarity, x.similarity), cmp.Compare(x.Stored, y.Stored))
	})
	asked, err := l.question(ctx, p.World, p.Asked)
	if err != nil {
		return nil, err
	}
	var lines []likenessLine
	for _, c := range all[:min(len(all), considered)] {
		stored, err := l.question(ctx, p.World, c.Stored)
		if err != nil {
			return nil, err
		}
		pair := likeness.Pair{Asked: asked, Stored: stored, Similarity: c.similarity, Answer: c.Answer}
		for _, o := range all {
			if o.Answer != c.Answer {
				pair.Second = o.similarity
				break
			}
		}
		if a, b := likeness.Rests(p.Asked, c.Stored); a != "" && b != "" {
			if pair.Rest, err = l.similarity(ctx, a, b); err != nil {
				return nil, err
			}
		}

		lines = append(lines, likenessLine{
			ID: p.ID, World: p.World, Bank: p.Bank, Kind: kind, Own: c.Stored == p.Stored, Right: p.AskedAnswer != nil && *p.AskedAnswer == c.Answer,
			Proven: likeness.Proven(pair, l.threshold), Asked: p.Asked, Stored: c.Stored, Score: l.model.Score(pair), Similar: c.similarity, X: likeness.Features(pair),
		})
	}
	return lines, nil
}
