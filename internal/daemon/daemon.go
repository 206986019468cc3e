package daemon

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/percached/percached/internal/backend"

	"github.com/percached/percached/internal/node"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/version"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/telemetry"
	"github.com/percached/percached/internal/token"
	"github.com/percached/percached/llm/llamacpp"
)

// reach is how much of a service a process has.
type reach struct {
	daemon     bool // it listens at a socket, and does idle work by itself
	model      bool // the language model is open: questions can be answered
	node.Parts      // what tests put in place of the real parts
}

// served is a data folder that is served: by a daemon at a socket, or inside a
// command to this command alone.
type served struct {
	reach
	conf    *config.Loaded
	setup   config.Config // as it was at the start
	log     *slog.Logger
	level   *slog.LevelVar
	cert    *tls.Config // nil: no TLS
	home    *home.Home
	tokens  *token.Store
	metrics *telemetry.Metrics
	hub     *api.EventBus
	backend *backend.Backend
	stage   stage
	begun   time.Time

	listener    net.Listener
	connections *connections
	server      *http.Server
	requests    requests
	service     *node.Node
	opened      atomic.Pointer[node.Node] // the same, for who comes at any time

	stop      context.CancelFunc // ends run, for what was restored
	restoring sync.Mutex         // held while a backup is being restored
	restored  atomic.Bool        // one was: what is served is replaced when run has ended

	// looking is held shared by who looks how things stand, for the metrics: nobody
	// waits for a slow one but close.
	looking sync.RWMutex
	closed  bool
}

// newServed prepares all that is there before anything is loaded.
func newServed(conf *config.Loaded, as reach, stderr io.Writer) (*served, error) {
	c := conf.Now()
	d := &served{
		reach: as, conf: conf, setup: c, level: &slog.LevelVar{}, metrics: telemetry.New(), hub: &api.EventBus{}, begun: time.Now(),
	}
	d.level.Set(c.Serving.Level)
	if !as.daemon { // a command tells what it does itself
		d.level.Set(max(c.Serving.Level, slog.LevelWarn))
	}
	d.log = NewLog(stderr, c.Serving.Format, d.level)
	d.stage.log = d.log
	var err error
	if as.daemon {
		if d.cert, err = certificate(&c.Serving); err != nil {
			return nil, err
		}
	}
	if err := token.Verify(c.Data); err != nil { // before anything of the folder is touched
		return nil, err
	}
	if d.home, err = home.Open(c.Data); err != nil {
		return nil, err
	}
	if err := d.openTokens(); err != nil {
		return nil, joined(err, d.home.Close())
	}
	d.prepare()
	d.stage.at(StageOpening, 0)
	return d, nil
}

// prepare makes what stands behind the interface before anything is loaded.
func (d *served) prepare() {
	d.backend = &backend.Backend{Hub: d.hub, Tokens: d.tokens, Config: d.conf, About: d.about, Started: d.begun, Logger: d.log}
	if d.daemon {
		d.backend.Restorer = d.restore
	}
}

// NewLog logs to w, as text or as JSON.
func NewLog(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

func (d *served) openTokens() (err error) {
	if d.tokens, err = token.Open(d.setup.Data); err != nil {
		return err
	}
	d.tokens.Observer.Trouble = func(err error) { d.log.Error("tokens do not hold", "error", err) }
	_, made, err := d.tokens.Main()
	if made {
		d.log.Info("the main token was made", "file", d.home.Path("token"))
	}
	return err
}

// options of the interface; they want the listener.
func (d *served) options() api.Options {
	o := api.Default()
	o.Hosts, o.Origins, o.MaxUpload, o.SendTimeout = d.setup.Serving.Hosts, d.setup.Serving.Origins, d.setup.Serving.Upload, d.setup.Serving.SendTimeout
	o.Hosts = append(o.Hosts[:len(o.Hosts):len(o.Hosts)], OwnHost(d.listener.Addr())...)
	o.Authorize, o.Ready, o.Spec, o.Metrics, o.Events, o.Version = d.authorize, d.stage.ready, percached.OpenAPI(), d.metrics.Handler(), d.hub, version.String()
	o.Logger, o.Observer.Request, o.Observer.Working = d.log, d.metrics.Request, d.connections.working
	if !d.daemon { // who owns the folder needs no bounds against strangers
		o.MaxUpload, o.WriteTimeout, o.SendTimeout, o.AskTimeout = math.MaxInt64, endless, endless, endless
	}
	return o
}

// endless is longer than anything takes.
const endless = 365 * 24 * time.Hour

// OwnHost is the name under which a listener's address is called: the one IP
// address that it has, unless that is everybody's own. A name in listen has become
// one by now, and commands call that.
func OwnHost(at net.Addr) []string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok || tcp.IP.IsUnspecified() || tcp.IP.IsLoopback() {
		return nil
	}
	return []string{tcp.IP.String()}
}

// roles are those of tokens, as the interface knows them.
var roles = map[token.Role]api.Role{
	token.RoleAsk: api.RoleAsk, token.RoleWrite: api.RoleWrite, token.RoleAdmin: api.RoleAdmin,
}

// authorize says what a token allows.
func (d *served) authorize(secret string) (api.Grant, bool) {
	t, ok := d.tokens.Check(secret)
	role, known := roles[t.Role]
	if !ok || !known {
		return api.Grant{}, false
	}
	return api.Grant{Token: t.ID, Space: t.Space, Role: role}, true
}

// about says what answers here; it wants the service.
func (d *served) about() api.About {
	m, e := percached.ModelInfo{}, d.service.Embedder.Info()
	if d.service.Engine != nil {
		m = d.service.Engine.Info()
	}
	return api.About{
		Version: version.String(), Started: d.begun.UTC(),
		Model: api.AboutModel{
			Name: m.Name, Parameters: m.Parameters, Context: m.Context, Threads: m.Threads, KeyType: m.KeyType, ValueType: m.ValueType,
			Fingerprint: m.Fingerprint, NoSlices: m.NoSlices,
			Shape: api.ModelShape{
				Layers: m.Layers, Width: m.Width, Heads: m.Heads, HeadsKV: m.HeadsKV, HeadSize: m.HeadSize,
				FeedForward: m.FeedForward, Vocabulary: m.Vocabulary, BytesPerToken: m.BytesPerToken,
			},
		},
		Embedder: api.AboutEmbedder{Name: e.Name, Dimensions: e.Dimensions, Fingerprint: e.Fingerprint},
	}
}

// open opens the service behind the interface, and the inbox before it.
func (d *served) open(ctx context.Context, stderr io.Writer) (*inbox.Inbox, error) {
	if cpu := llamacpp.CPU(); d.daemon && len(cpu.Idle) > 0 {
		d.log.Warn("this binary was compiled without instructions that the CPU has", "instructions", cpu.Idle, "cure", cpu.Cure)
	}
	c := node.Options{Config: d.setup, Parts: d.Parts}
	rec := &telemetry.Recorder{Metrics: d.metrics, Hub: d.hub, Now: time.Now, Log: d.log}
	c.Observers = node.Observers{
		Lost: rec.Damaged, BankObserver: rec.Bank(), TreeObserver: rec.Tree(), SchedulerObserver: rec.Scheduler(), Asked: rec.Asked,
		Stopped: d.metrics.EngineCancelled, Restarted: d.metrics.EngineRestarted,
	}
	c.Folder, c.Log, c.SkipCleanUp = d.home, d.log, d.daemon
	c.Progress = func(of1 float64) { d.stage.at(StageLoading, of1) }
	s, err := node.Open(ctx, c, d.model, stderr)
	if err != nil {
		return nil, err
	}
	rec.IDs = s.Knowledge.PublicIDs
	d.service = s
	d.opened.Store(s)
	limits := node.InboxLimits{Disk: node.InboxDisk, Documents: c.Serving.Documents, Expanded: c.Serving.Upload}
	if !d.daemon { // as in options
		limits = node.InboxLimits{Disk: math.MaxInt64, Documents: math.MaxInt, Expanded: math.MaxInt64}
	}
	in, err := node.OpenInbox(s, limits, d.log, rec.Inbox())
	if err != nil {
		return nil, err
	}
	d.backend.Open(s, in, rec)
	d.conf.OnChange(func(from, to config.Config) error {
		if err := s.Reconfigure(from, to); err != nil {
			return err
		}
		if d.daemon {
			d.level.Set(to.Serving.Level)
		}
		return nil
	})
	d.metrics.Watch(func() (telemetry.State, error) {
		d.looking.RLock()
		defer d.looking.RUnlock()
		if d.closed {
			return telemetry.State{}, fault.New(fault.Unavailable, "percached: serve", "percached is closing")
		}
		return d.backend.State()
	})
	return in, nil
}

// closeService closes what was opened. It does nothing the second time.
func (d *served) closeService() error {
	d.looking.Lock()
	closed := d.closed
	d.closed = true
	d.looking.Unlock()
	if d.service == nil || closed {
		return nil
	}
	return d.service.Close()
}

// close closes what is left, in the opposite order.
func (d *served) close() error {
	err := d.closeService()
	d.forgetAddress()
	if err == nil {
		return d.home.Close()
	}
	return joined(err, d.home.Close())
}

// joined is both errors in one sentence, of the first one's kind.
func joined(first, second error) error {
	if second == nil {
		return first
	}
	return fault.New(fault.KindOf(first), "percached: serve", "%s; %s", cmdline.Sentence(first), cmdline.Sentence(second))
}
