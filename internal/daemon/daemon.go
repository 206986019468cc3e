package daemon

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/audit"
	"github.com/percached/percached/internal/backend"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/version"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/issuer"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/quota"
	"github.com/percached/percached/internal/telemetry"
	"github.com/percached/percached/internal/token"
	"github.com/percached/percached/internal/trace"
	"github.com/percached/percached/llm/llamacpp"
)

// mode says how a process serves a data folder.
type mode struct {
	daemon            bool // listen on a socket, and do idle work
	model             bool // open the language model
	node.Dependencies      // replacements for tests
}

// daemon serves a data folder: on a socket, or to one command within its process.
type daemon struct {
	mode
	conf    *config.Loaded
	config  config.Config // the configuration at the start
	log     *slog.Logger
	level   *slog.LevelVar
	cert    *tls.Config // nil: no TLS
	home    *home.Home
	tokens  *token.Store
	audit   *audit.Log // nil: none
	quotas  *quota.Counter
	issuer  *issuer.Verifier // nil: none
	tracer  *trace.Tracer    // nil: none
	metrics *telemetry.Metrics
	hub     *api.EventBus
	backend *backend.Backend
	stage   stage
	started time.Time

	listener    net.Listener
	connections *connections
	server      *http.Server
	requests    requests
	node        *node.Node
	opened      atomic.Pointer[node.Node] // node, for other goroutines

	stop      context.CancelFunc // ends run after a restore
	restoring sync.Mutex         // held during a restore
	restored  atomic.Bool        // a backup was restored: another daemon takes over after run

	// stateMu is held for reading while metrics read the state, and for writing by close.
	stateMu sync.RWMutex
	closed  bool
}

// newDaemon prepares everything that needs no open layers.
func newDaemon(conf *config.Loaded, as mode, stderr io.Writer) (*daemon, error) {
	c := conf.Now()
	d := &daemon{
		mode: as, conf: conf, config: c, level: &slog.LevelVar{}, metrics: telemetry.New(), hub: &api.EventBus{}, started: time.Now(),
	}
	d.level.Set(c.Serving.Level)
	if !as.daemon { // a command reports for itself
		d.level.Set(max(c.Serving.Level, slog.LevelWarn))
	}
	d.log = NewLog(stderr, c.Serving.Format, d.level)
	d.stage.log = d.log
	var err error
	if as.daemon {
		if d.cert, err = loadCertificate(&c.Serving); err != nil {
			return nil, err
		}
	}
	if err := token.Verify(c.Data); err != nil { // before anything is written
		return nil, err
	}
	if d.home, err = home.Open(c.Data, c.KeySource()); err != nil {
		return nil, err
	}
	err = d.openTokens()
	if err == nil {
		d.audit, err = OpenAudit(c)
	}
	if err != nil {
		return nil, joinErrors(err, d.home.Close())
	}
	d.openQuotas()
	if as.daemon && c.Serving.Traces != "" {
		d.tracer = trace.New(trace.Options{Endpoint: c.Serving.Traces, Version: version.String(), Failed: func(err error) {
			d.log.Warn("traces are not sent", "error", err)
		}})
	}
	if o := c.Serving.OIDC; as.daemon && o.Issuer != "" {
		d.issuer = issuer.New(issuer.Options{Issuer: o.Issuer, Audience: o.Audience, Claim: o.SpaceClaim, Now: time.Now})
	}
	d.prepare()
	d.stage.set(StageOpening, 0)
	return d, nil
}

// prepare makes the backend, which gets its node later.
func (d *daemon) prepare() {
	d.backend = &backend.Backend{Events: d.hub, Tokens: d.tokens, Config: d.conf, About: d.about, Started: d.started, Logger: d.log}
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

func (d *daemon) openTokens() (err error) {
	if d.tokens, err = token.Open(d.config.Data); err != nil {
		return err
	}
	d.tokens.Observer.Trouble = func(err error) { d.log.Error("cannot read the tokens", "error", err) }
	_, made, err := d.tokens.Main()
	if made {
		d.log.Info("created the main token", "file", d.home.Path("token"))
	}
	return err
}

// options are the options of the interface. The listener must exist.
func (d *daemon) options() api.Options {
	o := api.Default()
	o.Hosts, o.Origins, o.MaxUpload, o.SendTimeout = d.config.Serving.Hosts, d.config.Serving.Origins, d.config.Serving.Upload, d.config.Serving.SendTimeout
	o.Hosts = append(o.Hosts[:len(o.Hosts):len(o.Hosts)], OwnHost(d.listener.Addr())...)
	o.Authorize, o.Ready, o.Spec, o.Metrics, o.Events, o.Version = d.authorize, d.stage.ready, percached.OpenAPI(), d.metrics.Handler(), d.hub, version.String()
	if d.tracer != nil {
		o.Observer.Asked = d.tracer.Question
	}
	o.Audit, o.Quota = d.auditOptions(), d.takeQuota
	o.Logger, o.Observer.Request, o.Observer.Working = d.log, d.metrics.Request, d.connections.beginRequest
	o.Upstream = d.upstream()
	if !d.daemon { // a command needs no limits against strangers
		o.MaxUpload, o.WriteTimeout, o.SendTimeout, o.AskTimeout = math.MaxInt64, endless, endless, endless
	}
	return o
}

// endless is longer than any request takes.
const endless = 365 * 24 * time.Hour

// OwnHost is the IP address of a listener, as a host name that clients may use. It is empty
// for loopback and unspecified addresses.
func OwnHost(at net.Addr) []string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok || tcp.IP.IsUnspecified() || tcp.IP.IsLoopback() {
		return nil
	}
	return []string{tcp.IP.String()}
}

// about describes version, model and embedder. The node must be open.
func (d *daemon) about() api.About {
	m, e := percached.ModelInfo{}, d.node.Embedder.Info()
	if d.node.Engine != nil {
		m = d.node.Engine.Info()
	}
	return api.About{
		Version: version.String(), Started: d.started.UTC(),
		Model: api.AboutModel{
			Name: m.Name, Parameters: m.Parameters, Context: m.Context, Threads: m.Threads, KeyType: m.KeyType, ValueType: m.ValueType,
			Fingerprint: m.Fingerprint, NoSlices: m.NoSlices, Server: m.Server, PrefixCache: m.PrefixCache,
			Shape: api.ModelShape{
				Layers: m.Layers, Width: m.Width, Heads: m.Heads, HeadsKV: m.HeadsKV, HeadSize: m.HeadSize,
				FeedForward: m.FeedForward, Vocabulary: m.Vocabulary, BytesPerToken: m.BytesPerToken,
			},
		},
		Embedder: api.AboutEmbedder{Name: e.Name, Dimensions: e.Dimensions, Fingerprint: e.Fingerprint},
	}
}

// open opens the node and the inbox.
func (d *daemon) open(ctx context.Context, stderr io.Writer) (*inbox.Inbox, error) {
	if cpu := llamacpp.CPU(); d.daemon && len(cpu.Idle) > 0 {
		d.log.Warn("this binary does not use all instructions of the CPU", "instructions", cpu.Idle, "cure", cpu.Cure)
	}
	c := node.Options{Config: d.config, Dependencies: d.Dependencies}
	rec := &telemetry.Recorder{Metrics: d.metrics, Events: d.hub, Now: time.Now, Log: d.log}
	c.Observers = node.Observers{
		Lost: rec.Damaged, BankObserver: rec.Bank(), TreeObserver: rec.Tree(), SchedulerObserver: rec.Scheduler(), Asked: rec.Asked,
		Completed: rec.Completed, Checked: rec.Checked, Changed: rec.Changed, Stopped: d.metrics.EngineCancelled, Restarted: d.metrics.EngineRestarted,
		Expired: func(slices int) { d.metrics.Expired("slices", slices) }, Outlived: rec.Outlived,
	}
	c.Folder, c.Log, c.SkipCleanUp = d.home, d.log, d.daemon
	c.Progress = func(of1 float64) { d.stage.set(StageLoading, of1) }
	s, err := node.Open(ctx, c, d.model, stderr)
	if err != nil {
		return nil, err
	}
	rec.IDs = s.Knowledge.PublicIDs
	d.node = s
	d.opened.Store(s)
	limits := node.InboxLimits{Disk: node.InboxDisk, Documents: c.Serving.Documents, Expanded: c.Serving.Upload}
	if !d.daemon { // as in options
		limits = node.InboxLimits{Disk: math.MaxInt64, Documents: math.MaxInt, Expanded: math.MaxInt64}
	}
	in, err := node.OpenInbox(s, limits, d.log, rec.Inbox())
	if err != nil {
		return nil, err
	}
	if d.daemon {
		if d.backend.Remote, err = node.OpenRemoteBackups(s, in, d.config, os.Getenv); err != nil {
			return nil, err
		}
	}
	d.backend.SetNode(s, in, rec)
	d.conf.OnChange(func(from, to config.Config) error {
		if err := s.Reconfigure(from, to); err != nil {
			return err
		}
		if d.daemon {
			d.level.Set(to.Serving.Level)
		}
		return nil
	})
	d.metrics.WatchState(func() (telemetry.State, error) {
		d.stateMu.RLock()
		defer d.stateMu.RUnlock()
		if d.closed {
			return telemetry.State{}, fault.New(fault.Unavailable, "percached: serve", "percached is closing")
		}
		return d.backend.State()
	})
	return in, nil
}

// closeNode closes the node. The second call does nothing.
func (d *daemon) closeNode() error {
	d.stateMu.Lock()
	closed := d.closed
	d.closed = true
	d.stateMu.Unlock()
	if d.node == nil || closed {
		return nil
	}
	return d.node.Close()
}

// close closes the node and the data folder, and removes the address.
func (d *daemon) close() error {
	err := d.closeNode()
	d.forgetAddress()
	if wrong := d.quotas.Save(); wrong != nil {
		d.log.Warn("the counts of quotas are not saved", "error", wrong)
	}
	if d.tracer != nil {
		ctx, cancel := context.WithTimeout(context.Background(), finalGrace)
		defer cancel()
		_ = d.tracer.Close(ctx) // spans that a slow collector does not take are lost
	}
	if d.audit != nil {
		_ = d.audit.Close() // each synced line is on the disk
	}
	if err == nil {
		return d.home.Close()
	}
	return joinErrors(err, d.home.Close())
}

// joinErrors joins two errors to one sentence with the kind of the first.
func joinErrors(first, second error) error {
	if second == nil {
		return first
	}
	return fault.New(fault.KindOf(first), "percached: serve", "%s; %s", cmdline.Sentence(first), cmdline.Sentence(second))
}
