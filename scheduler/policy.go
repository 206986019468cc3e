package scheduler

import "fmt"

// Population is how far a predicted question is worked out ahead of time.
type Population uint8

// The two ways to populate.
const (
	Full        Population = iota // prefill and decode: the entry gets its answer
	PrefillOnly                   // only the tensors: the entry stays without an answer
)

func (p Population) String() string {
	switch p {
	case Full:
		return "full"
	case PrefillOnly:
		return "prefill_only"
	}
	return fmt.Sprint(uint8(p))
}

// MarshalText writes the name.
func (p Population) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Population says how far predicted questions are worked out in a space with
// this similarity threshold. Above the cut-off few questions come close enough
// to a predicted one to be served its answer, so decoding would be wasted; the
// tensors help any question about the same chunks. A space that does not adapt
// always gets both.
func (c Config) Population(threshold float64, adaptive bool) Population {
	if adaptive && threshold > c.Cutoff {
		return PrefillOnly
	}
	return Full
}

// CutoffAbove is the cut-off for a service's similarity threshold: an eighth of
// the way from there to sameness, on whatever scale the embedding model has. So a
// service decodes predicted questions, and a space that wants more likeness, which
// few questions have, does not.
func CutoffAbove(threshold float64) float64 { return threshold + (1-threshold)/8 }

// Decodes says whether entries without an answer get one now, in a space with
// this similarity threshold and this switch for conversion.
func (c Config) Decodes(threshold float64, conversion bool) bool {
	return conversion && threshold <= c.Cutoff
}
