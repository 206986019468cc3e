package llamacpp

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/gguf"
)

func TestZZLong(t *testing.T) {
	arch := os.Getenv("ZZ_ARCH")
	n, _ := strconv.Atoi(os.Getenv("ZZ_N"))
	unit := os.Getenv("ZZ_UNIT")
	e := open(t, gguf.RandomOptions{Architecture: arch, Seed: 3, Tokenizer: os.Getenv("ZZ_TOK")}, nil)
	text := strings.Repeat(unit, n/len(unit))
	b := time.Now()
	toks, err := e.Tokenize([]percached.Segment{{Texts: []percached.Text{{Text: text}}}})
	t.Log(len(text), time.Since(b), err, len(toks[0]))
}
