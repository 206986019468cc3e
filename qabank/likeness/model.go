package likeness

import (
	"embed"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/percached/percached"
	"github.com/percached/percached/qabank/gate"
)

// Model scores two questions by boosted trees over their features. fit.py fits it for one
// embedding model.
type Model struct {
	// Name names the fit: scores of models with different names cannot be compared.
	Name string
	// Calibration says how often the best stored answer was wrong on questions that the fit
	// had not seen, by score, highest first. It is empty for an embedding model that none
	// was fitted for.
	Calibration gate.Calibration

	base         float64
	slope, shift float64 // from the trees' log odds to those of questions as they come
	trees        [][]node
	scale        func(cosine float64) float64
}

// node of a tree: a leaf, if feature is negative.
type node struct {
	feature     int
	value       float64 // of a leaf, or the threshold up to which left is next
	left, right int
}

//go:embed fitted/*.json
var fitted embed.FS

// The fitted models.
var (
	minilm = sync.OnceValue(func() *Model { return load("minilm-l6") })
	nano   = sync.OnceValue(func() *Model { return load("nano-embed") })
)

// For returns the model for an embedder. An embedder that no model was fitted for gets that
// of MiniLM, with its own similarities scaled from its threshold to MiniLM's.
func For(e percached.EmbedderInfo, threshold float64) *Model {
	switch name := strings.ToLower(e.Name); {
	case strings.Contains(name, "minilm-l6"):
		return minilm()
	case strings.Contains(name, "nano-embed"):
		return nano()
	}
	m := *minilm()
	m.Name, m.Calibration = "scaled", nil
	if threshold < 1 {
		m.scale = func(cosine float64) float64 { return 1 - (1-cosine)*(1-minilmThreshold)/(1-threshold) }
	}
	return &m
}

// minilmThreshold is the threshold measured for MiniLM.
const minilmThreshold = 0.85

func load(file string) *Model {
	b, err := fitted.ReadFile("fitted/" + file + ".json")
	if err != nil {
		panic(err) // a test loads all of them
	}
	var stored struct {
		Features    []string
		Base        float64
		Scale       [2]float64
		Trees       [][][]float64
		Calibration [][3]float64
	}
	if err := json.Unmarshal(b, &stored); err != nil || !slices.Equal(stored.Features, Names()) {
		panic("likeness: " + file + " was fitted for other features")
	}
	m := &Model{Name: file, base: stored.Base, slope: stored.Scale[0], shift: stored.Scale[1]}
	for _, t := range stored.Trees {
		nodes := make([]node, len(t))
		for i, n := range t {
			nodes[i] = node{feature: int(n[0]), value: n[1]}
			if n[0] >= 0 {
				nodes[i].left, nodes[i].right = int(n[2]), int(n[3])
			}
		}
		m.trees = append(m.trees, nodes)
	}
	for _, c := range stored.Calibration {
		m.Calibration = append(m.Calibration, gate.Step{Score: c[0], Questions: c[1], Wrong: c[2]})
	}
	return m
}

// Score is the estimated probability that the stored answer is also the asked question's;
// 0 for questions that are too long to compare.
func (m *Model) Score(p Pair) float64 {
	asked, stored := split(p.Asked.Text), split(p.Stored.Text)
	if len(asked) > maxWords || len(stored) > maxWords {
		return 0
	}
	if m.scale != nil {
		p.Similarity, p.Second, p.Rest = m.scale(p.Similarity), m.scale(p.Second), m.scale(p.Rest)
	}
	x, z := features(p, asked, stored), m.base
	for _, t := range m.trees {
		n := t[0]
		for n.feature >= 0 {
			if x[n.feature] <= n.value {
				n = t[n.left]
			} else {
				n = t[n.right]
			}
		}
		z += n.value
	}
	return 1 / (1 + math.Exp(-m.slope*z-m.shift))
}

// Proven reports whether the stored answer is the asked question's beyond the budget of
// wrong answers: the wordings differ in nothing, each question's best chunk is among the
// other's, and their similarity is at least the embedder's threshold.
func Proven(p Pair, threshold float64) bool {
	own, evidence := p.Asked.Chunks, p.Stored.Chunks
	return p.Similarity >= threshold && len(own) > 0 && len(evidence) > 0 &&
		slices.Contains(evidence, own[0]) && slices.Contains(own, evidence[0]) && SameWording(p.Asked.Text, p.Stored.Text)
}
