package openai

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/models"
)

// llamaServerAt starts the llama-server that `make peer` builds, with the built-in model: on a
// larger one the suite takes minutes. Without the server the test is skipped.
func llamaServerAt(t *testing.T, args ...string) string {
	t.Helper()
	model, err := models.Nano(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	where, err := exec.Command("sh", "../../internal/tools/llama.sh", "where").Output()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(strings.TrimSpace(string(where)), "bin", "llama-server")
	if _, err := os.Stat(binary); err != nil {
		t.Skipf("there is no llama-server; make peer builds it: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	ctx, stop := context.WithCancel(context.Background())
	all := append([]string{"-m", model, "--host", "127.0.0.1", "--port", fmt.Sprint(at), "-c", "2048", "-t", "1", "-np", "1", "--no-webui"}, args...)
	cmd := exec.CommandContext(ctx, binary, all...)
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = cmd.Wait() })
	go func() { // a full pipe would stop the server
		for in := bufio.NewScanner(out); in.Scan(); {
		}
	}()
	return fmt.Sprintf("http://127.0.0.1:%d", at)
}

// The engine keeps its contract on a real llama-server. The server's prefix cache is off: with it
// the same sums are added in another order, and a near tie may end otherwise.
func TestLlamaServerConformance(t *testing.T) {
	c := Default()
	c.URL, c.Queue, c.uncached = llamaServerAt(t), 4, true
	c.Context = 1024 // the built-in model has a small vocabulary, so more tokens than estimated
	llmtest.RunEngine(t, llmtest.Engines{
		Open:    func() (llm.Engine, error) { return Open(context.Background(), c) },
		Special: "<|percached:user|>",
		Queue:   c.Queue,
	})
}

// What percached knows of a llama-server, and what its prefix cache saves.
func TestLlamaServer(t *testing.T) {
	c := Default()
	c.URL = llamaServerAt(t)
	e, err := Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	info := e.Info()
	if info.Server != llamaServer || info.Parameters < 1e6 || info.Context != 2048-reserve || !strings.HasPrefix(info.Name, "nano-") || !info.PrefixCache || info.NoGrammar != "" {
		t.Errorf("%+v", info)
	}
	var chunks []string
	for n := range 6 {
		chunks = append(chunks, fmt.Sprintf("Note %d: room %d is free, and Anna has the key of cupboard %d.\n", n, 7*n, 3*n))
	}
	p := percached.Prompt{Segments: info.Chat.Ask("Answer from the notes.", chunks, "Who has the key?"), MaxTokens: 4}
	warm := p
	warm.Priority, warm.Segments = percached.Background, p.Segments[:len(p.Segments)-1]
	if _, err := e.Prefill(context.Background(), warm); err != nil {
		t.Fatal(err)
	}
	res, err := e.Generate(context.Background(), p, nil)
	if u := res.Usage; err != nil || u.Reused < u.Prompt/2 || u.Reused+u.Computed != u.Prompt {
		t.Errorf("after warming: %+v, %v", u, err)
	}
	tokens, err := e.Tokenize(p.Segments)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, ids := range tokens {
		n += len(ids)
	}
	if n+reserve < res.Usage.Prompt {
		t.Errorf("%d tokens were estimated, and the server counts %d", n, res.Usage.Prompt)
	}
	gone := c
	gone.URL, gone.Patience, gone.Wait = "http://127.0.0.1:1", 0, func(context.Context, time.Duration) error { return nil }
	if _, err := Open(context.Background(), gone); err == nil || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("a server that is gone: %v", err)
	}
}
