package systems_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/systems"
)

func choose(t *testing.T, list string) []eval.System {
	t.Helper()
	s, err := systems.Choose(list)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func namesOf(all []eval.System) (names []string) {
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

func named(t *testing.T, all []eval.System, name string) eval.System {
	t.Helper()
	i := slices.IndexFunc(all, func(s eval.System) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no %s among %v", name, namesOf(all))
	}
	return all[i]
}

// Each system has the settings that the papers describe.
func TestSettings(t *testing.T) {
	const (
		sequential, parallel = client.PlacementSequential, client.PlacementParallel
		off, answers, both   = client.PredictionModeOff, client.PredictionModeAnswers, client.PredictionModeBoth
	)
	type parts struct {
		Placement          client.Placement
		Bank, Gate, Tensor bool
		Prediction         client.PredictionMode
		Whole              bool
		Changes            bool // it adapts and converts
		Idle               eval.Idle
		Forgets, Poisoned  bool
		Reference          string
	}
	want := map[string]parts{
		"naive":                   {Placement: sequential, Prediction: off, Idle: eval.IdleNone, Reference: "naive"},
		"naive-whole":             {Placement: sequential, Prediction: off, Whole: true, Idle: eval.IdleNone, Reference: "naive"},
		"naive-parallel":          {Placement: parallel, Prediction: off, Idle: eval.IdleNone, Reference: "naive-parallel"},
		"ragcache":                {Placement: sequential, Tensor: true, Prediction: off, Idle: eval.IdleNone, Reference: "naive"},
		"meancache":               {Placement: sequential, Bank: true, Prediction: off, Idle: eval.IdleNone, Reference: "naive"},
		"sleep-time":              {Placement: sequential, Bank: true, Prediction: answers, Idle: eval.IdlePredict, Forgets: true, Reference: "naive"},
		"ragcache+meancache":      {Placement: sequential, Bank: true, Tensor: true, Prediction: off, Idle: eval.IdleNone, Reference: "naive"},
		"ragcache+sleep-time":     {Placement: sequential, Bank: true, Tensor: true, Prediction: answers, Idle: eval.IdlePredict, Forgets: true, Reference: "naive"},
		"percache":                {Placement: sequential, Bank: true, Tensor: true, Prediction: both, Changes: true, Idle: eval.IdlePredict, Reference: "naive"},
		"percache-fixed":          {Placement: sequential, Bank: true, Tensor: true, Prediction: both, Idle: eval.IdlePredict, Reference: "naive"},
		"poisoned":                {Placement: sequential, Bank: true, Tensor: true, Prediction: off, Changes: true, Idle: eval.IdleNone, Poisoned: true, Reference: "naive"},
		"percached":               {Placement: parallel, Bank: true, Gate: true, Tensor: true, Prediction: both, Changes: true, Idle: eval.IdleAll, Reference: "naive-parallel"},
		"percached-sequential":    {Placement: sequential, Bank: true, Gate: true, Tensor: true, Prediction: both, Changes: true, Idle: eval.IdleAll, Reference: "naive"},
		"percached-no-bank":       {Placement: parallel, Gate: true, Tensor: true, Prediction: both, Changes: true, Idle: eval.IdleAll, Reference: "naive-parallel"},
		"percached-no-tensors":    {Placement: parallel, Bank: true, Gate: true, Prediction: both, Changes: true, Idle: eval.IdleAll, Reference: "naive-parallel"},
		"percached-no-drafts":     {Placement: parallel, Bank: true, Gate: true, Tensor: true, Prediction: both, Changes: true, Idle: eval.IdleAll, Reference: "naive-parallel"},
		"percached-no-prediction": {Placement: parallel, Bank: true, Gate: true, Tensor: true, Prediction: off, Changes: true, Idle: eval.IdleAll, Reference: "naive-parallel"},
		"percached-no-idle":       {Placement: parallel, Bank: true, Gate: true, Tensor: true, Prediction: off, Changes: true, Idle: eval.IdleNone, Reference: "naive-parallel"},
		"ragcache-parallel":       {Placement: parallel, Tensor: true, Prediction: off, Idle: eval.IdleNone, Reference: "naive-parallel"},
	}
	got := map[string]parts{}
	yes := func(b *bool) bool { return b != nil && *b }
	all := choose(t, "all,percache-fixed,poisoned")
	for _, s := range all {
		set := s.Settings
		got[s.Name] = parts{
			Placement: *set.Placement, Bank: yes(set.Bank), Gate: yes(set.Guard), Tensor: yes(set.Tensors), Prediction: *set.Prediction,
			Whole: yes(set.Whole), Changes: yes(set.Adaptive), Idle: s.Idle, Forgets: s.Forgets, Poisoned: s.Poisoned, Reference: s.Reference,
		}
		if s.About == "" || s.Of != "" || s.Key != "" || s.Value != 0 || s.Then != nil {
			t.Errorf("%s is a system in its own right: %+v", s.Name, s)
		}
		// Other settings are the service's defaults, which may change.
		if set.Bank == nil || set.Tensors == nil || yes(set.Bank) && set.Guard == nil {
			t.Errorf("%s leaves open what it keeps", s.Name)
		}
		if s.Idle != eval.IdleNone && (set.Adaptive == nil || set.Conversion == nil || *set.Adaptive != *set.Conversion) {
			t.Errorf("%s leaves open whether it changes", s.Name)
		}
		if drafts := strings.HasPrefix(s.Name, "percached") && s.Name != "percached-no-drafts"; *set.Drafts != drafts {
			t.Errorf("%s: drafts are %v", s.Name, *set.Drafts)
		}
		if set.MaxWrong != nil || set.Threshold != nil || set.K != nil || set.Stride != nil || set.TensorLimit != nil {
			t.Errorf("%s has what is to be the same for all", s.Name)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, s := range all {
		if papers := s.Idle == eval.IdlePredict || s.Poisoned; papers != (s.Settings.Prompts != nil) {
			t.Errorf("%s has prompts of its own: %v", s.Name, !papers)
		}
	}
}

// The paper's prompts are the built-in ones.
func TestPapersPrompts(t *testing.T) {
	for _, name := range []string{"abstract.txt", "knowledge.txt", "history.txt"} {
		ours, err := os.ReadFile(filepath.Join("prompts", name))
		if err != nil {
			t.Fatal(err)
		}
		built, err := os.ReadFile(filepath.Join("..", "..", "predictor", "prompts", name))
		if d := cmp.Diff(string(built), string(ours)); d != "" || err != nil {
			t.Error(name, d, err)
		}
	}
}

// A reference computes every answer, from the same prompt as its systems.
func TestReferences(t *testing.T) {
	all := choose(t, "all,percache-fixed,poisoned,thresholds,budgets,strides,limits,cases")
	for _, s := range all {
		ref := named(t, all, s.Reference)
		if *ref.Settings.Bank || *ref.Settings.Tensors || *ref.Settings.Prediction != client.PredictionModeOff || ref.Idle != eval.IdleNone || ref.Reference != ref.Name {
			t.Errorf("%s stands for %s and caches: %+v", ref.Name, s.Name, ref)
		}
		type prompt struct {
			Placement *client.Placement
			Order     *client.Order
			Planes    *client.Planes
			K         *int
		}
		of := func(s client.Settings) prompt { return prompt{s.Placement, s.Order, s.Planes, s.K} }
		if d := cmp.Diff(of(ref.Settings), of(s.Settings)); d != "" || *s.Settings.Order != client.OrderRelevance {
			t.Errorf("%s: %s", s.Name, d)
		}
	}
}

func TestChoose(t *testing.T) {
	everything, groups := systems.Names()
	if d := cmp.Diff([]string{"all", "thresholds", "budgets", "strides", "limits", "cases"}, groups); d != "" {
		t.Error(d)
	}
	usual := slices.DeleteFunc(slices.Clone(everything), func(n string) bool { return n == "percache-fixed" || n == "poisoned" })
	for _, tc := range []struct {
		list string
		want []string
	}{
		{"naive", []string{"naive"}},
		{" ragcache , naive ", []string{"naive", "ragcache"}},
		{"naive-whole", []string{"naive", "naive-whole"}},
		{"meancache,ragcache,meancache", []string{"naive", "ragcache", "meancache"}},
		{"percached-no-idle", []string{"naive-parallel", "percached-no-idle"}},
		{"percached-no-prediction", []string{"naive", "naive-parallel", "percache", "percached-no-prediction"}},
		// A system that does all idle work is limited by PerCache, which has a reference.
		{"percached", []string{"naive", "naive-parallel", "percache", "percached"}},
		{"percached@stride=2", []string{"naive", "naive-parallel", "percache", "percached@stride=2"}},
		// Numbers have one form.
		{"percache@threshold=0.60,percache@threshold=.6,percache@threshold=6e-1", []string{"naive", "percache@threshold=0.6"}},
		{"percache@stride=2,ragcache,percache@stride=1", []string{"naive", "ragcache", "percache@stride=2", "percache@stride=1"}},
		{"all", usual},
		{"all,all,percached", usual},
		{"percache-fixed," + strings.Join(everything, ","), everything},
	} {
		if d := cmp.Diff(tc.want, namesOf(choose(t, tc.list))); d != "" {
			t.Errorf("%s: %s", tc.list, d)
		}
	}
}

func TestVariants(t *testing.T) {
	base := named(t, choose(t, "percache"), "percache")
	for _, tc := range []struct {
		name   string
		key    string
		value  float64
		about  string // the end of the text
		slices int
		change func(*eval.System)
	}{
		{"percache@threshold=0", "threshold", 0, "; threshold 0.00", 0, func(s *eval.System) { s.Settings.Threshold = new(0.0) }},
		{"percache@threshold=0.85", "threshold", 0.85, "; threshold 0.85", 0, func(s *eval.System) { s.Settings.Threshold = new(0.85) }},
		{"percache@threshold=1", "threshold", 1, "; threshold 1.00", 0, func(s *eval.System) { s.Settings.Threshold = new(1.0) }},
		{"percache@max-wrong=0.05", "max-wrong", 0.05, "; at most 5 % of the answers to other words wrong", 0, func(s *eval.System) { s.Settings.MaxWrong = new(0.05) }},
		{"percache@max-wrong=0", "max-wrong", 0, "; at most 0 % of the answers to other words wrong", 0, func(s *eval.System) { s.Settings.MaxWrong = new(0.0) }},
		{"percache@stride=50", "stride", 50, "; 50 questions predicted per round", 0, func(s *eval.System) { s.Settings.Stride = new(50) }},
		{"percache@limit=69", "limit", 69, "; storage for 69 slices", 69, func(*eval.System) {}},
		{"percache@case=1", "case", 1, "; case 1: a threshold of 0.92, which few stored answers pass", 0, func(s *eval.System) {
			s.Settings.Threshold = new(0.92)
		}},
		{"percache@case=2", "case", 2, "; case 2: a threshold of 0.92 that falls to 0.80 halfway", 0, func(s *eval.System) {
			s.Settings.Threshold = new(0.92)
			s.Then = new(s.Settings)
			s.Then.Threshold = new(0.80)
		}},
		{"percache@case=3", "case", 3, "; case 3: storage for 17 slices, and from halfway for all", 17, func(s *eval.System) { s.Then = new(s.Settings) }},
	} {
		want := base
		want.Name, want.Of, want.Key, want.Value, want.About = tc.name, "percache", tc.key, tc.value, base.About+tc.about
		tc.change(&want)
		got := named(t, choose(t, tc.name), tc.name)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", tc.name, d)
		}
		if n := systems.Slices(got); n != tc.slices {
			t.Errorf("%s: room for %d slices", tc.name, n)
		}
	}
	if n := systems.Slices(base); n != 0 {
		t.Error("a system in its own right has the run's room, not", n)
	}
	// A variant does not change its system.
	both := choose(t, "percache@threshold=0.6,percache")
	if d := cmp.Diff(base, named(t, both, "percache")); d != "" {
		t.Error(d)
	}
}

// The groups are the paper's figures 15, 17, 18 and 19, and the gate's error budget.
func TestGroups(t *testing.T) {
	for _, tc := range []struct {
		group, key string
		of         []string
		values     []float64
	}{
		{"thresholds", "threshold", []string{"percache", "percached"}, []float64{0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90, 0.95}},
		{"budgets", "max-wrong", []string{"percached"}, []float64{0, 0.005, 0.01, 0.02, 0.05, 0.1}},
		{"strides", "stride", []string{"percache", "percached"}, []float64{1, 2, 3, 4, 5}},
		{"limits", "limit", []string{"ragcache", "percache", "percached"}, []float64{8, 17, 35, 69, 138}},
		{"cases", "case", []string{"percache", "percache-fixed"}, []float64{1, 2, 3}},
	} {
		got := map[string][]float64{}
		for _, s := range choose(t, tc.group) {
			if s.Of == "" {
				continue
			}
			if s.Key != tc.key {
				t.Errorf("%s: %s", tc.group, s.Name)
			}
			got[s.Of] = append(got[s.Of], s.Value)
		}
		want := map[string][]float64{}
		for _, of := range tc.of {
			want[of] = tc.values
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", tc.group, d)
		}
	}
}

func TestRefused(t *testing.T) {
	const numbers, ranges = "SYSTEM@KEY=NUMBER", "threshold and max-wrong are 0 to 1, stride 1 to 50, limit at least 1, case 1, 2 or 3"
	for list, why := range map[string]string{
		"":                               `unknown system ""`,
		"naive,":                         `unknown system ""`,
		"PerCache":                       `unknown system "PerCache"; the systems are naive, naive-whole, `,
		"percach":                        "groups are all, thresholds, budgets, strides, limits, cases",
		"percach@stride=1":               `unknown system "percach"`,
		"thresholds@stride=1":            `unknown system "thresholds"`,
		"percache@":                      numbers,
		"percache@stride":                numbers,
		"percache@stride=":               numbers,
		"percache@stride=two":            numbers,
		"percache@threshold=NaN":         numbers,
		"percache@threshold=0.8@limit=2": numbers + ", such as percache@threshold=0.8",
		"percache@threshold=1.01":        ranges,
		"percache@threshold=-0.1":        ranges,
		"percached@max-wrong=1.5":        ranges,
		"percache@stride=0":              ranges,
		"percache@stride=51":             ranges,
		"percache@stride=1.5":            ranges,
		"percache@limit=0":               ranges,
		"percache@limit=2.5":             ranges,
		"percache@limit=Inf":             ranges,
		"percache@case=4":                ranges,
		"percache@colour=1":              ranges,
	} {
		got, err := systems.Choose(list)
		if err == nil || !strings.Contains(err.Error(), why) || got != nil {
			t.Errorf("%q: %v, %v", list, namesOf(got), err)
		}
	}
}
