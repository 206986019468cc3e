package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/daemon"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/scheduler"
)

// An interrupted idle run has done the reported jobs, and the next one continues after them.
func TestIdleRunIsInterrupted(t *testing.T) {
	c := node.Default()
	c.Data, c.Create, c.Volatile, c.Now = t.TempDir(), true, true, time.Now
	ctx, cancel := context.WithCancel(context.Background())
	var runs atomic.Int64
	o := llmtest.DefaultOptions()
	o.Step = func(s llmtest.Step) { // so that not all is done before somebody has read of it
		if s.Op == llmtest.OpQueue && runs.Add(1) > 8 {
			<-ctx.Done()
		}
	}
	c.Engine, c.Embedder = llmtest.NewFake(o), llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions())
	s := nodetest.Open(t, c)
	if _, err := s.Asker.Ask(context.Background(), answer.Question{Space: nodetest.Space, Text: "Who leads Otter?"}, answer.Listener{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	here := insider{c}
	out := &breaking{after: 3, cancel: cancel}
	if err := here.run(ctx, out, "idle", "run", "--json"); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	done := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l["id"] == nil {
			continue // that of all
		}
		for _, key := range []string{"id", "kind", "space", "subject", "end", "seconds", "computed_tokens", "generated_tokens", "bytes_written", "questions"} {
			if _, ok := l[key]; !ok {
				t.Errorf("no %s in %s", key, line)
			}
		}
		if l["end"] == string(scheduler.EndDone) {
			done[l["id"].(string)] = true
		}
	}
	if len(done) == 0 {
		t.Fatal("nothing was done")
	}
	var rest, none bytes.Buffer
	if err := here.run(context.Background(), &rest, "idle", "run", "--json"); err != nil || rest.Len() == 0 {
		t.Errorf("%q, %v", rest.String(), err)
	}
	for line := range strings.Lines(rest.String()) {
		var l stepLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if done[l.ID] && l.End == scheduler.EndDone {
			t.Errorf("done twice: %s", line)
		}
	}
	if err := here.run(context.Background(), &none, "idle", "run"); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff("no idle work was done\n", none.String()); d != "" {
		t.Error(d)
	}
}

// insider runs commands on a folder that is opened for each, with the engine of the test.
type insider struct{ node.Options }

func (h insider) dial(cmd *cobra.Command, n need) (*link.Link, error) {
	return daemon.InProcess(cmd.Context(), config.Of(h.Config, daemon.CheckConfig), n.Model, h.Dependencies, cmd.ErrOrStderr())
}

func (h insider) run(ctx context.Context, stdout io.Writer, args ...string) error {
	root := &cobra.Command{SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(linkCommands(h.dial)...)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(io.Discard)
	return root.ExecuteContext(ctx)
}

// breaking interrupts after a number of lines.
type breaking struct {
	bytes.Buffer
	after  int
	cancel func()
}

func (b *breaking) Write(p []byte) (int, error) {
	if b.after--; b.after == 0 {
		b.cancel()
	}
	return b.Buffer.Write(p)
}
