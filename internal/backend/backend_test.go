package backend

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/internal/telemetry"
	"github.com/percached/percached/internal/token"
	"github.com/percached/percached/llm/llmtest"
)

// scripted are the answers of the model in the backends of tests.
func scripted() map[string]string {
	return map[string]string{"Who leads Otter?": "Somebody leads it.", "What is the code of Heron?": "It is a number."}
}

// scriptedService is a node on a scripted engine, with the letters.
func scriptedService(t *testing.T, dir string) *node.Node {
	t.Helper()
	c := node.Default()
	c.Data, c.Create, c.Volatile, c.Now = dir, true, true, time.Now
	o := llmtest.DefaultOptions()
	o.Script = llmtest.Answers(scripted())
	engine, embedder := llmtest.NewFake(o), llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions())
	c.Engine, c.Embedder = engine, embedder
	s := nodetest.Open(t, c)
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), engine.Close(), embedder.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// scriptedBackend is a backend on such a node, with a running inbox.
func scriptedBackend(t *testing.T) *Backend {
	t.Helper()
	s := scriptedService(t, t.TempDir())
	tokens, err := token.Open(s.Home.Path())
	if err != nil {
		t.Fatal(err)
	}
	conf := config.Of(config.DaemonDefault(), node.CheckConfig)
	conf.OnChange(func(_, to config.Config) error { return s.Tree.SetLimit(to.TensorLimit) })
	f := &Backend{
		Node: s, Events: &api.EventBus{}, Tokens: tokens, Config: conf, Logger: slog.New(slog.DiscardHandler),
		About: func() api.About { return api.About{Version: "test"} },
	}
	f.recorder = &telemetry.Recorder{Metrics: telemetry.New(), Events: f.Events, Now: s.Now, Log: f.Logger, IDs: s.Knowledge.PublicIDs}
	if f.Inbox, err = node.OpenInbox(s, node.InboxLimits{Disk: node.InboxDisk, Documents: 1000, Expanded: 1 << 30}, f.Logger, f.recorder.Inbox()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- f.Inbox.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
	return f
}

// given returns the result of a function of the backend.
func given[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wantFault checks the kind of an error, and the fields that it names.
func wantFault(t *testing.T, what string, err error, kind fault.Kind, fields ...string) {
	t.Helper()
	if fault.KindOf(err) != kind {
		t.Errorf("%s: %v, want %v", what, err, kind)
	}
	var got []string
	if wrong, ok := errors.AsType[api.FieldErrors](err); ok {
		for _, f := range wrong {
			got = append(got, f.Field)
		}
	}
	if !reflect.DeepEqual(got, fields) {
		t.Errorf("%s: %v names %q, want %q", what, err, got, fields)
	}
}

// The backend has every function, also before a node is open.
func TestBackendIsWhole(t *testing.T) {
	b := reflect.ValueOf((&Backend{}).API())
	for i := range b.NumField() {
		if b.Field(i).IsNil() {
			t.Errorf("no %s", b.Type().Field(i).Name)
		}
	}
}

// Every function returns NotFound for something that does not exist, and the error names it.
func TestNotThere(t *testing.T) {
	f := scriptedBackend(t)
	b, ctx := f.API(), t.Context()
	none, here := api.InSpace{Space: "none"}, api.InSpace{Space: nodetest.Space}
	entry := "00000000000000000000000000000001"
	for what, do := range map[string]func() error{
		"none, ask": func() error {
			_, err := b.Ask(ctx, api.AskRequest{Space: "none", Question: api.Question{Question: "Why?"}}, api.Listener{})
			return err
		},
		"none, space": func() error { _, err := b.Space(ctx, none); return err },
		"none, change": func() error {
			_, err := b.ChangeSpace(ctx, api.SpaceChange{InSpace: none, Merge: []byte(`{}`)})
			return err
		},
		"none, delete": func() error { _, err := b.DeleteSpace(ctx, api.DeleteRequest{InSpace: none}); return err },
		"none, upload": func() error {
			_, err := b.Upload(ctx, api.Upload{Space: "none", Each: func(func(string, io.Reader) error) error { return errors.New("it was read") }})
			return err
		},
		"none, uploads":       func() error { _, err := b.Uploads(ctx, api.Page{InSpace: none, Limit: 1}); return err },
		"none, upload status": func() error { _, err := b.UploadStatus(ctx, api.OneUpload{InSpace: none, Upload: entry}); return err },
		"none, documents": func() error {
			_, err := b.Documents(ctx, api.DocumentPage{Page: api.Page{InSpace: none, Limit: 1}})
			return err
		},
		"none, document": func() error { _, err := b.Document(ctx, api.OneDocument{InSpace: none}); return err },
		"none, forget": func() error {
			_, err := b.DeleteDocument(ctx, api.DeleteDocumentRequest{DeleteRequest: api.DeleteRequest{InSpace: none}})
			return err
		},
		"none, history":       func() error { _, err := b.History(ctx, api.Page{InSpace: none, Limit: 1}); return err },
		"none, clear history": func() error { _, err := b.ClearHistory(ctx, api.ClearHistoryRequest{InSpace: none}); return err },
		"none, entries": func() error {
			_, err := b.Entries(ctx, api.EntryPage{Page: api.Page{InSpace: none, Limit: 1}})
			return err
		},
		"none, search": func() error {
			_, err := b.SearchEntries(ctx, api.EntrySearch{InSpace: none, Query: "a", Limit: 1})
			return err
		},
		"none, entry":  func() error { _, err := b.Entry(ctx, api.OneEntry{InSpace: none, Entry: entry}); return err },
		"none, remove": func() error { _, err := b.DeleteEntry(ctx, api.OneEntry{InSpace: none, Entry: entry}); return err },
		"none, veto": func() error {
			_, err := b.VetoEntry(ctx, api.VetoRequest{OneEntry: api.OneEntry{InSpace: none, Entry: entry}, Veto: api.Veto{Asked: "Why?"}})
			return err
		},
		"none, export":      func() error { _, err := b.Export(ctx, api.Export{InSpace: none}); return err },
		"none, import":      func() error { _, err := b.Import(ctx, api.Import{InSpace: none, Lines: &bytes.Buffer{}}); return err },
		"none, gate":        func() error { _, err := b.Gate(ctx, none); return err },
		"none, cache":       func() error { _, err := b.SpaceCache(ctx, none); return err },
		"none, tree":        func() error { _, err := b.Tree(ctx, api.Page{InSpace: none, Limit: 1}); return err },
		"none, clear cache": func() error { _, err := b.ClearSpaceCache(ctx, none); return err },
		"none, predictions": func() error { _, err := b.Predictions(ctx, none); return err },
		"none, predict":     func() error { _, err := b.Predict(ctx, none); return err },
		"none, ledger":      func() error { _, err := b.Ledger(ctx, api.LedgerQuery{Space: "none"}); return err },

		"00000000, document": func() error { _, err := b.Document(ctx, api.OneDocument{InSpace: here}); return err },
		"00000000, forget": func() error {
			_, err := b.DeleteDocument(ctx, api.DeleteDocumentRequest{DeleteRequest: api.DeleteRequest{InSpace: here}})
			return err
		},
		"0001, entry":  func() error { _, err := b.Entry(ctx, api.OneEntry{InSpace: here, Entry: entry}); return err },
		"what?, entry": func() error { _, err := b.Entry(ctx, api.OneEntry{InSpace: here, Entry: "what?"}); return err },
		"0001, remove": func() error { _, err := b.DeleteEntry(ctx, api.OneEntry{InSpace: here, Entry: entry}); return err },
		"0001, veto": func() error {
			_, err := b.VetoEntry(ctx, api.VetoRequest{OneEntry: api.OneEntry{InSpace: here, Entry: entry}, Veto: api.Veto{Asked: "Why?"}})
			return err
		},
		"upload, status": func() error { _, err := b.UploadStatus(ctx, api.OneUpload{InSpace: here, Upload: entry}); return err },
		"abc, retry":     func() error { _, err := b.RetryJob(ctx, api.OneJob{Job: "abc"}); return err },
	} {
		err := do()
		name, _, _ := bytes.Cut([]byte(what), []byte(","))
		if fault.KindOf(err) != fault.NotFound || !bytes.Contains([]byte(cmdline.Sentence(err)), name) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Each way of changing the limit of tensors changes the key of the daemon.
func TestConfig(t *testing.T) {
	f := scriptedBackend(t)
	b, ctx := f.API(), t.Context()
	if about := given[api.About](t)(b.About(ctx, api.Nothing{})); about.Version != "test" {
		t.Errorf("%+v", about)
	}
	got := given[api.Cache](t)(b.LimitCache(ctx, api.CacheLimit{Limit: new(int64(1 << 20))}))
	if limit, _ := f.Tree.Stats(); got.Limit != 1<<20 || limit.Limit != 1<<20 {
		t.Errorf("%d, %d", got.Limit, limit.Limit)
	}
	for _, s := range given[api.Config](t)(b.Config(ctx, api.Nothing{})).Settings {
		if s.Key == "tensor-limit" && (s.Value != "1MiB" || s.Source != "runtime") {
			t.Errorf("%+v", s)
		}
	}
	if _, err := b.ChangeConfig(ctx, api.ConfigChange{"colour": "red"}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("an unknown key: %v", err)
	}
}

// files are the files of an upload: names and contents in turn.
func files(namesAndTexts ...string) func(take func(name string, body io.Reader) error) error {
	return func(take func(name string, body io.Reader) error) error {
		for i := 0; i < len(namesAndTexts); i += 2 {
			if err := take(namesAndTexts[i], strings.NewReader(namesAndTexts[i+1])); err != nil {
				return err
			}
		}
		return nil
	}
}
