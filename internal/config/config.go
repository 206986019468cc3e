package config

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/url"
	"runtime"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/encryption"
)

// Config is how one percached is set. Fields without a key in the table are constants
// that tests and benchmarks set otherwise.
type Config struct {
	Create        bool // make the data folder if there is none
	Data          string
	KeyFile       string // contains the passphrase of an encrypted data folder
	EngineKind    string // LlamaCpp or OpenAI
	EngineURL     string // of the server, for OpenAI
	EngineKeyFile string // contains the server's key
	PlainEngine   bool   // plain HTTP to a server on another machine
	EmbedURL      string // of a server that embeds; empty: this process does
	Model         string // empty: the built-in one, or the only one of the server
	EmbedModel    string // empty: the built-in one
	QueryPrefix   *string
	DocPrefix     *string // like QueryPrefix: nil takes the prefix of the embedding model's family
	KV            string
	Threads       int
	GPULayers     int   // -1: as many as fit
	Context       int   // Auto: as the memory allows
	EmbedContext  int   // tokens of a text that the embedding model reads
	TensorLimit   int64 // bytes; Auto: as the disk allows; without bound for commands that store no tensors
	BankLimit     int64 // bytes of stored answers
	History       int   // questions that a space remembers
	ChunkWords    int
	Fusion        string
	MaxChanged    float64 // share of answers that packed tensors may change
	Placement     string  // empty: what serves the model best
	Order         string
	K             int
	Threshold     float64 // negative: the embedding model's own
	Guard         bool
	MaxWrong      float64 // share of wrong answers among those served for a question in other words
	MaxTokens     int
	Memory        bool          // find facts about the user and use them where needed
	Trajectories  bool          // the history keeps answers and decisions too
	Keep          time.Duration // of questions and answers; 0: for ever
	MaxWaiting    int           // questions that the model works on or that wait for it
	Restarts      int           // of a failed model within RestartPeriod
	RestartPeriod time.Duration // to which Restarts belongs
	Idle          Idle
	Serving       Serving
	Backup        Backup
}

// Backup is where the daemon stores backups by itself, and how often.
type Backup struct {
	To      string // address in object storage; empty: nowhere
	KeyFile string // with the credentials; empty: they are in the environment
	Every   time.Duration
	Keep    time.Duration // 0: for ever
}

// The engines.
const (
	LlamaCpp = "llamacpp"
	OpenAI   = "openai"
)

// BuiltIn says that the language model is the built-in one.
func (c *Config) BuiltIn() bool { return c.EngineKind != OpenAI && c.Model == "" }

// KeySource is where the passphrase of an encrypted data folder comes from.
func (c Config) KeySource() encryption.Source { return encryption.Source{File: c.KeyFile} }

// Idle is when idle work is done, and how much of it.
type Idle struct {
	After      time.Duration // without a question
	Windows    []Window      // none: always
	Zone       *time.Location
	Compute    time.Duration // budget of a window
	Questions  int           // budget of a window
	Charging   bool          // only while a device with a battery is charging
	MinBattery float64
	Prediction string
	Stride     int     // questions predicted at a time
	Cutoff     float64 // negative: above the service's threshold
	Adaptive   bool
	Conversion bool
	Quiet      time.Duration // documents and questions are unchanged for this long before prediction
	Floor      float64       // similarity of a predicted question to its best chunk
	PayHorizon time.Duration
	PayTrial   time.Duration
	PayWorth   float64
}

// Window is a time for idle work that recurs.
type Window struct {
	Cron   string
	Length time.Duration
}

// Serving is how the daemon serves HTTP.
type Serving struct {
	Listen        string
	Insecure      bool
	Cert, Key     string // files
	Hosts         []string
	Origins       []string
	Documents     int   // of an upload
	Upload        int64 // bytes of an upload
	Connections   int
	Header        int64
	HeaderTimeout time.Duration
	IdleTimeout   time.Duration
	SendTimeout   time.Duration // of a client that sends nothing of its body
	Grace         time.Duration // for requests in progress when the daemon stops
	Level         slog.Level
	Format        string // of the log
	OIDC          OIDC
	Traces        string // address of an OpenTelemetry collector; empty: none
	Audit         string // file of the audit log, relative to the data folder; empty: none
}

// OIDC is an OpenID Connect issuer whose tokens are accepted.
type OIDC struct {
	Issuer     string // URL; empty: none
	Audience   string
	SpaceClaim string
}

// Secure says whether requests go over TLS.
func (s *Serving) Secure() bool { return s.Cert != "" }

// Auto is a value that percached chooses for the machine. It is written auto.
const Auto = math.MinInt32

// Default is the configuration without file, environment and flags, for a command that
// stores no tensors.
func Default() Config {
	return Config{
		EngineKind: LlamaCpp, KV: "f16", Threads: runtime.GOMAXPROCS(0), GPULayers: -1, Context: Auto, EmbedContext: 2048, TensorLimit: math.MaxInt64,
		BankLimit: 100 << 20, History: 1000, ChunkWords: 100, Fusion: "weighted", Order: "relevance", K: 3, Threshold: -1, Guard: true,
		MaxWrong: 0.01, MaxChanged: 0.02, MaxTokens: 256, Memory: true, MaxWaiting: 64, Restarts: 3, RestartPeriod: 10 * time.Minute,
		Idle: Idle{
			After: 30 * time.Second, Zone: time.Local, Compute: time.Hour, Questions: 500, Charging: true, MinBattery: 0.4, Prediction: "both",
			Stride: 5, Cutoff: -1, Adaptive: true, Conversion: true, Quiet: 2 * time.Minute, Floor: 0.3,
			PayHorizon: 14 * 24 * time.Hour, PayTrial: 2 * time.Minute, PayWorth: 10,
		},
		Backup: Backup{Every: 5 * time.Minute, Keep: 30 * 24 * time.Hour},
		Serving: Serving{
			Listen: "127.0.0.1:7337", Documents: 1_000_000, Upload: 4 << 30, Connections: 512, Header: 32 << 10, HeaderTimeout: 10 * time.Second,
			IdleTimeout: 2 * time.Minute, SendTimeout: 15 * time.Second, Grace: 5 * time.Second, Level: slog.LevelInfo, Format: "text",
			OIDC: OIDC{SpaceClaim: "percached"},
		},
	}
}

// KeyError is what is wrong with the value of one key.
type KeyError struct {
	Key string // empty: no single key is at fault
	Err error
}

func (e *KeyError) Error() string { return "--" + e.Key + ": " + e.Err.Error() }

// Unwrap returns the error inside.
func (e *KeyError) Unwrap() error { return e.Err }

// Validate joins everything that is wrong. What only the layers know, such as whether
// a cron expression is right, they check themselves.
func (c Config) Validate() error {
	var errs []error
	bad := func(wrong bool, key, format string, args ...any) {
		if wrong {
			errs = append(errs, &KeyError{key, fmt.Errorf(format, args...)})
		}
	}
	bad(c.Data == "", "data", "the path is empty, and there is no home folder to take its place")
	bad(c.EngineKind != LlamaCpp && c.EngineKind != OpenAI, "engine", "%q is neither %s nor %s", c.EngineKind, LlamaCpp, OpenAI)
	bad(c.EngineKind == OpenAI && c.EngineURL == "", "engine-url", "set the address of the server, such as http://127.0.0.1:8080")
	bad(c.EngineKind != OpenAI && c.EngineURL != "", "engine-url", "it is used by engine = %s alone: set engine, or leave engine-url out", OpenAI)
	bad(c.EngineKind != OpenAI && c.EmbedURL == "" && c.EngineKeyFile != "", "engine-key-file", "there is no server that the key is for: set engine-url or embed-url, or leave engine-key-file out")
	bad(c.EngineKind == OpenAI && c.Placement == percached.Parallel.String(), "placement", "a server computes a prompt as one sequence: leave placement empty")
	bad(c.TensorLimit < 0 && c.TensorLimit != Auto, "tensor-limit", "%d is negative", c.TensorLimit)
	bad(c.BankLimit < 1, "bank-limit", "%d is not positive", c.BankLimit)
	bad(c.Threshold > 1, "threshold", "%v is above 1", c.Threshold)
	bad(!(c.MaxChanged >= 0 && c.MaxChanged <= 1), "max-changed", "%v is not a share between 0 and 1, such as 0.02 for 2 %%", c.MaxChanged)
	bad(!(c.MaxWrong >= 0 && c.MaxWrong <= 1), "max-wrong", "%v is not a share between 0 and 1, such as 0.01 for 1 %%", c.MaxWrong)
	bad(c.K < 1 || c.K > 64, "k", "%d is not between 1 and 64", c.K)
	bad(c.Threads < 1 || c.Threads > 512, "threads", "%d is not between 1 and 512", c.Threads)
	bad(c.GPULayers < -1, "gpu-layers", "%d is less than -1", c.GPULayers)
	bad(c.Context != Auto && (c.Context < 1 || c.Context > 1<<24), "context", "%d is neither auto nor between 1 and %d", c.Context, 1<<24)
	bad(c.MaxTokens < 1, "max-tokens", "%d is not positive", c.MaxTokens)
	bad(c.Keep < 0, "keep", "%v is negative; 0 keeps questions and answers for ever", c.Keep)
	bad(c.Keep > 0 && c.Keep < time.Hour, "keep", "%v is less than 1h", c.Keep)
	bad(c.ChunkWords < 20 || c.ChunkWords > 400, "chunk-words", "%d is not between 20 and 400", c.ChunkWords)
	bad(!IsKVType(c.KV), "kv", "%q is neither f16, q8_0 nor q4_0", c.KV)
	var p percached.Placement
	bad(c.Placement != "" && p.UnmarshalText([]byte(c.Placement)) != nil, "placement", "%q is neither sequential nor parallel", c.Placement)
	bad(c.Backup.Every < time.Second, "backup-every", "%v is less than 1s", c.Backup.Every)
	bad(c.Backup.Keep != 0 && c.Backup.Keep < time.Hour, "backup-keep", "%v is less than 1h; 0s keeps backups for ever", c.Backup.Keep)
	s := &c.Serving
	_, port, err := net.SplitHostPort(s.Listen)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	bad(err != nil, "listen", "%q is not an address with a port, such as 127.0.0.1:7337", s.Listen)
	bad(err == nil && !s.Secure() && !s.Insecure && !loopback(s.Listen), "listen",
		"other machines can reach %s and could read the traffic: set tls-cert and tls-key, or set insecure-listen to true", s.Listen)
	bad((s.Cert == "") != (s.Key == ""), "tls-cert", "set tls-cert and tls-key together or not at all")
	bad(s.Format != "text" && s.Format != "json", "log-format", "%q is neither text nor json", s.Format)
	bad(s.Traces != "" && !isURL(s.Traces), "otlp-endpoint", "%q is not an http or https address, such as http://127.0.0.1:4318", s.Traces)
	bad(s.OIDC.Issuer != "" && !safeURL(s.OIDC.Issuer), "oidc-issuer", "%q is not an https address (http only to this machine)", s.OIDC.Issuer)
	bad(s.OIDC.Issuer != "" && s.OIDC.Audience == "", "oidc-audience", "set the audience that tokens of %s must have", s.OIDC.Issuer)
	bad(s.OIDC.Issuer != "" && s.OIDC.SpaceClaim == "", "oidc-space-claim", "the name is empty")
	bad(s.Grace < 0, "shutdown-grace", "%v is negative", s.Grace)
	bad(s.Upload < 1, "max-upload", "%d is not positive", s.Upload)
	return errors.Join(errs...)
}

// IsKVType says whether keys and values can be of a type.
func IsKVType(name string) bool { return name == "f16" || name == "q8_0" || name == "q4_0" }

// isURL says whether an address is http or https, with nothing but a host and a path.
func isURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// safeURL says whether an address is https, or http to this machine.
func safeURL(address string) bool {
	u, err := url.Parse(address)
	if err != nil || !isURL(address) {
		return false
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return u.Scheme == "https" || u.Scheme == "http" && loopback(net.JoinHostPort(u.Hostname(), port))
}

// loopback says that only this machine can reach an address. A name other than
// localhost may stand for any address.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// KeyErrors splits joined errors. Errors that belong to no single key have an empty Key.
func KeyErrors(err error) []KeyError {
	switch e := err.(type) {
	case nil:
		return nil
	case *KeyError:
		return []KeyError{*e}
	case interface{ Unwrap() []error }:
		var all []KeyError
		for _, one := range e.Unwrap() {
			all = append(all, KeyErrors(one)...)
		}
		return all
	}
	return []KeyError{{Err: err}}
}
