package systems

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/percached/percached/eval"
)

// The settings that variants vary.
const (
	Threshold = "threshold" // of similarity
	MaxWrong  = "max-wrong" // share of wrong answers that the gate allows
	Stride    = "stride"    // questions predicted in a round
	Limit     = "limit"     // of tensors, in slices of a chunk
	Case      = "case"      // of the scheduler: 1, 2 or 3
)

// Names lists what Choose accepts: systems, and groups of systems.
func Names() (names, groups []string) {
	for _, s := range known() {
		names = append(names, s.Name)
	}
	return names, []string{"all", "thresholds", "budgets", "strides", "limits", "cases"}
}

// group lists the systems of a group; nil: name is not a group.
func group(name string) []string {
	each := func(of []string, key string, values ...float64) (names []string) {
		for _, s := range of {
			for _, v := range values {
				names = append(names, s+"@"+key+"="+strconv.FormatFloat(v, 'f', -1, 64))
			}
		}
		return names
	}
	switch name {
	case "all":
		names, _ := Names()
		return slices.DeleteFunc(names, func(n string) bool { return n == fixed || n == Poisoned })
	case "thresholds":
		return each([]string{PerCache, Percached}, Threshold, 0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90, 0.95)
	case "budgets":
		return each([]string{Percached}, MaxWrong, 0, 0.005, 0.01, 0.02, 0.05, 0.1)
	case "strides":
		return each([]string{PerCache, Percached}, Stride, 1, 2, 3, 4, 5)
	case "limits":
		return each([]string{"ragcache", PerCache, Percached}, Limit, 8, 17, 35, 69, 138)
	case "cases":
		return each([]string{PerCache, fixed}, Case, 1, 2, 3)
	}
	return nil
}

// Choose returns the systems of a comma-separated list, each once, with those that they
// need, in the order of reports.
func Choose(list string) ([]eval.System, error) {
	var wanted []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if some := group(name); some != nil {
			wanted = append(wanted, some...)
		} else {
			wanted = append(wanted, name)
		}
	}
	all := known()
	chosen := map[string]eval.System{}
	var variants []string
	for len(wanted) > 0 {
		s, err := find(all, wanted[0])
		if err != nil {
			return nil, err
		}
		wanted = wanted[1:]
		if _, ok := chosen[s.Name]; ok {
			continue
		}
		chosen[s.Name] = s
		if s.Of != "" {
			variants = append(variants, s.Name)
		}
		wanted = append(wanted, s.Reference)
		if s.Idle == eval.IdleAll {
			wanted = append(wanted, PerCache)
		}
	}
	var in []eval.System
	for _, s := range all {
		if _, ok := chosen[s.Name]; ok {
			in = append(in, s)
		}
	}
	for _, name := range variants {
		in = append(in, chosen[name])
	}
	return in, nil
}

// find returns a system or a variant.
func find(all []eval.System, name string) (eval.System, error) {
	of, what, varies := strings.Cut(name, "@")
	at := slices.IndexFunc(all, func(s eval.System) bool { return s.Name == of })
	if at < 0 {
		names, groups := Names()
		return eval.System{}, fmt.Errorf("unknown system %q; the systems are %s; the groups are %s",
			of, strings.Join(names, ", "), strings.Join(groups, ", "))
	}
	if !varies {
		return all[at], nil
	}
	key, text, _ := strings.Cut(what, "=")
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) {
		return eval.System{}, fmt.Errorf("invalid variant %q: use SYSTEM@KEY=NUMBER, such as %s@%s=0.8", name, of, Threshold)
	}
	return vary(all[at], key, v)
}

// vary returns a variant.
func vary(s eval.System, key string, v float64) (eval.System, error) {
	s.Of, s.Key, s.Value = s.Name, key, v
	s.Name += "@" + key + "=" + strconv.FormatFloat(v, 'f', -1, 64)
	whole := v == math.Trunc(v) && v >= 1
	switch {
	case key == Threshold && v >= 0 && v <= 1:
		s.About += fmt.Sprintf("; threshold %.2f", v)
		s.Settings.Threshold = &v
	case key == MaxWrong && v >= 0 && v <= 1:
		s.About += fmt.Sprintf("; at most %g %% of the answers to other words wrong", 100*v)
		s.Settings.MaxWrong = &v
	case key == Stride && whole && v <= 50:
		s.About += fmt.Sprintf("; %.0f questions predicted per round", v)
		s.Settings.Stride = new(int(v))
	case key == Limit && whole && v <= 1<<30:
		s.About += fmt.Sprintf("; storage for %.0f slices", v)
	case key == Case && whole && v <= 3:
		return schedule(s, int(v)), nil
	default:
		return eval.System{}, fmt.Errorf("invalid variant %s: %s and %s are 0 to 1, %s 1 to 50, %s at least 1, %s 1, 2 or 3", s.Name, Threshold, MaxWrong, Stride, Limit, Case)
	}
	return s, nil
}

// schedule returns a system for one of the scheduling cases.
func schedule(s eval.System, n int) eval.System {
	const high, low = 0.92, 0.80
	switch n {
	case 1:
		s.About += fmt.Sprintf("; case 1: a threshold of %.2f, which few stored answers pass", high)
		s.Settings.Threshold = new(high)
	case 2:
		s.About += fmt.Sprintf("; case 2: a threshold of %.2f that falls to %.2f halfway", high, low)
		s.Settings.Threshold = new(high)
		s.Then = new(s.Settings)
		s.Then.Threshold = new(low)
	case 3:
		s.About += fmt.Sprintf("; case 3: storage for %d slices, and from halfway for all", fewSlices)
		s.Then = new(s.Settings)
	}
	return s
}

// fewSlices is the limit of case 3 in the first half.
const fewSlices = 17

// Slices is the limit of a system in slices, in the first half of the questions; 0: the
// limit of the run.
func Slices(s eval.System) int {
	switch {
	case s.Key == Limit:
		return int(s.Value)
	case s.Key == Case && s.Value == 3:
		return fewSlices
	}
	return 0
}
