package llamacpp

import (
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/gguf"
)

// The number of threads changes no tensor: it is not part of the fingerprint,
// and slices made with one number serve with another.
func TestThreadsChangeNothing(t *testing.T) {
	for _, weights := range []string{"f16", "q4_0"} {
		for _, flash := range []string{"on", "off"} {
			var one percached.Result
			var fingerprint string
			p := newNumbers(9).prompt(percached.Sequential, 20, 33, 9)
			p.MaxTokens = 2
			for threads := 1; threads <= 2; threads++ {
				e := open(t, gguf.RandomOptions{Shape: "tiny", Seed: 7, Type: weights}, func(c *Config) { c.FlashAttn, c.Threads = flash, threads })
				e.cache.pace.look = func() (load, bool) { return load{}, false } // whatever else the machine does
				r := generate(t, e, capturing(p))
				if threads == 1 {
					one, fingerprint = r, e.Info().Fingerprint
					continue
				}
				if e.Info().Fingerprint != fingerprint {
					t.Fatalf("%s, flash attention %s: the fingerprint changes with the threads", weights, flash)
				}
				equal(t, weights+", flash attention "+flash, one, r)
				for i := range r.Slices {
					if !sameSlice(one.Slices[i], r.Slices[i]) {
						t.Fatalf("%s, flash attention %s: slice %d differs with %d threads", weights, flash, i, threads)
					}
				}
				equal(t, "restored", one, generate(t, e, with(p, one.Slices, 0b11)))
			}
		}
	}
}
