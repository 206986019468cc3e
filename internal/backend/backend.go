package backend

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/telemetry"
	"github.com/percached/percached/internal/token"
)

// Backend answers the requests of the HTTP interface. The node, the inbox and the
// recorder are set when the data folder is open, before the first request.
type Backend struct {
	*node.Node
	Inbox    *inbox.Inbox
	recorder *telemetry.Recorder

	Events  *api.EventBus
	Tokens  *token.Store
	Config  *config.Loaded
	About   func() api.About
	Started time.Time
	Logger  *slog.Logger
	// Restorer replaces all data with a backup; nil without a daemon.
	Restorer func(context.Context, api.Restore) (api.Restored, error)

	// Remote makes backups in object storage; nil: none.
	Remote *node.RemoteBackups

	// spacesMu is held while a space is created, changed or deleted.
	spacesMu sync.Mutex
	writes   writes
}

// SetNode sets the open node with its inbox and recorder.
func (b *Backend) SetNode(n *node.Node, in *inbox.Inbox, rec *telemetry.Recorder) {
	b.Node, b.Inbox, b.recorder = n, in, rec
}

// API returns the functions of the interface.
func (b *Backend) API() api.Backend {
	return api.Backend{
		Ask: b.askHere, Complete: b.completeHere, Embed: b.Embed, About: b.aboutAll, Status: b.status,

		Spaces: b.spaces, Space: b.space, CreateSpace: b.createSpace, ChangeSpace: b.changeSpace, DeleteSpace: b.deleteSpace,
		ExportSpace: b.exportSpace, ImportSpace: b.importSpace,

		Upload: writing(b, b.upload), Uploads: b.uploads, UploadStatus: b.uploadStatus, CancelUpload: writing(b, b.cancelUpload),
		Documents: here(b, b.documents), Document: here(b, b.document), DeleteDocument: writing(b, b.deleteDocument), Deletions: here(b, b.deletions),

		Facts: here(b, b.facts), AddFact: writing(b, b.addFact), Fact: here(b, b.fact), ChangeFact: writing(b, b.changeFact), DeleteFact: writing(b, b.deleteFact),

		History: here(b, b.history), ClearHistory: writing(b, b.clearHistory),

		Conversations: here(b, b.conversations), CreateConversation: writing(b, b.createConversation), Conversation: here(b, b.conversation),
		AddTurns: writing(b, b.addTurns), DeleteConversation: writing(b, b.deleteConversation),

		SearchDocuments: here(b, b.searchDocuments), Entries: here(b, b.entries), SearchEntries: here(b, b.SearchEntries), Entry: here(b, b.entry),
		DeleteEntry: writing(b, b.deleteEntry), VetoEntry: writing(b, b.vetoEntry),
		Export: here(b, b.export), Import: writing(b, b.importLines), Gate: here(b, b.gate),

		Cache: b.cache, LimitCache: b.limitCache, VerifyCache: b.verifyCache, ClearCache: b.clearCache,
		SpaceCache: here(b, b.spaceCache), Tree: here(b, b.tree), ClearSpaceCache: here(b, b.clearSpaceCache),

		Predictions: here(b, b.predictions), Predict: writing(b, b.predict),

		Idle: b.idle, Device: b.device, Queue: b.queue, RetryJob: b.retryJob, Ledger: b.ledger,
		Pause: b.pause, Resume: b.resume, Drain: b.drain, ForgetPlacements: b.forgetPlacements,

		Backup: b.backup, Restore: b.restore,

		Config: b.showConfig, ChangeConfig: b.changeConfig,
	}
}

// publish publishes an event.
func (b *Backend) publish(kind, space string, data map[string]any) {
	b.Events.Publish(api.Event{Type: kind, At: b.Now(), Space: space, Data: data})
}

func (b *Backend) aboutAll(context.Context, api.Nothing) (api.About, error) { return b.About(), nil }

func (b *Backend) showConfig(context.Context, api.Nothing) (api.Config, error) {
	return ShownConfig(b.Config), nil
}

func (b *Backend) changeConfig(_ context.Context, c api.ConfigChange) (api.Config, error) {
	if err := b.Config.Change(c); err != nil {
		return api.Config{}, changeProblem(err)
	}
	b.publish(api.EventSettings, "", map[string]any{"keys": sortedKeys(c)})
	return ShownConfig(b.Config), nil
}

// ShownConfig lists every key with its value.
func ShownConfig(l *config.Loaded) (out api.Config) {
	for _, k := range l.All() {
		out.Settings = append(out.Settings, api.Setting(k))
	}
	return out
}

// changeProblem names the wrong fields of a refused change of keys.
func changeProblem(err error) error {
	refused, ok := errors.AsType[*config.ChangeError](err)
	if !ok {
		return err
	}
	var wrong api.FieldErrors
	for _, k := range refused.Keys {
		field := api.FieldError{Detail: k.Err.Error()}
		if k.Key != "" {
			field.Field = "/" + pointerToken(k.Key)
		}
		wrong = append(wrong, field)
	}
	return invalidFields(wrong)
}

func (b *Backend) backup(ctx context.Context, to api.Backup) (api.Nothing, error) {
	if b.Home.Encryption != nil {
		to.Encrypted()
	}
	return api.Nothing{}, b.Backup(ctx, b.Inbox, to.To)
}

func (b *Backend) restore(ctx context.Context, r api.Restore) (api.Restored, error) {
	if b.Restorer == nil {
		return api.Restored{}, fault.New(fault.Unsupported, "percached: restore", "only a daemon can restore a backup over HTTP; use percached restore FILE")
	}
	return b.Restorer(ctx, r)
}
