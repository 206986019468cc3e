package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/token"
)

// face is what the daemon shows of itself: each func of api.Backend, over the
// layers. What the command line shows comes from the same funcs of service.
type face struct {
	service *service // set before anything of the backend is called
	hub     *api.Hub
	inbox   *inbox.Inbox
	tokens  *token.Store
	config  *config.Loaded
	about   func() api.About
	begun   time.Time
	log     *slog.Logger
	// restorer replaces what is stored by a backup; nil where no daemon runs.
	restorer func(context.Context, api.Restore) (api.Restored, error)

	// changing is held while a space is made, changed or removed.
	changing sync.Mutex
}

// backend may be called before service is set.
func (f *face) backend() api.Backend {
	return api.Backend{
		Ask: f.ask, Embed: f.embed, About: f.aboutAll, Status: f.status,

		Spaces: f.spaces, Space: f.space, CreateSpace: f.createSpace, ChangeSpace: f.changeSpace, DeleteSpace: f.deleteSpace,

		Upload: f.upload, Uploads: f.uploads, UploadStatus: f.uploadStatus, CancelUpload: f.cancelUpload,
		Documents: f.documents, Document: f.document, DeleteDocument: f.deleteDocument,

		History: f.history, ClearHistory: f.clearHistory,

		Entries: f.entries, SearchEntries: f.searchEntries, Entry: f.entry, DeleteEntry: f.deleteEntry, VetoEntry: f.vetoEntry,
		Export: f.export, Import: f.importLines,

		Cache: f.cache, LimitCache: f.limitCache, VerifyCache: f.verifyCache, ClearCache: f.clearCache,
		SpaceCache: f.spaceCache, Tree: f.tree, ClearSpaceCache: f.clearSpaceCache,

		Predictions: f.predictions, Predict: f.predict,

		Idle: f.idle, Device: f.device, Queue: f.queue, RetryJob: f.retryJob, Ledger: f.ledger,
		Pause: f.pause, Resume: f.resume, Drain: f.drain, ForgetPlacements: f.forgetPlacements,

		Backup: f.backup, Restore: f.restore,

		Config: f.configured, ChangeConfig: f.changeConfig,
	}
}

// tell publishes news.
func (f *face) tell(kind, space string, data map[string]any) {
	f.hub.Publish(api.Event{Type: kind, At: f.service.now(), Space: space, Data: data})
}

func (f *face) aboutAll(context.Context, api.Nothing) (api.About, error) { return f.about(), nil }

func (f *face) configured(context.Context, api.Nothing) (api.Config, error) {
	return shownConfig(f.config), nil
}

func (f *face) changeConfig(_ context.Context, c api.ConfigChange) (api.Config, error) {
	if err := f.config.Change(c); err != nil {
		return api.Config{}, changeProblem(err)
	}
	f.tell(api.EventSettings, "", map[string]any{"keys": sortedKeys(c)})
	return shownConfig(f.config), nil
}

// shownConfig is every key with its value.
func shownConfig(l *config.Loaded) (out api.Config) {
	for _, k := range l.All() {
		out.Settings = append(out.Settings, api.Setting(k))
	}
	return out
}

// changeProblem names the fields of a request that changes keys and is refused.
func changeProblem(err error) error {
	refused, ok := errors.AsType[*config.ChangeError](err)
	if !ok {
		return err
	}
	var wrong api.FieldErrors
	for _, k := range refused.Keys {
		field := api.FieldError{Detail: k.Err.Error()}
		if k.Key != "" {
			field.Field = "/" + escaped(k.Key)
		}
		wrong = append(wrong, field)
	}
	return invalids(wrong)
}
