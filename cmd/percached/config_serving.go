package main

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
)

// serving is how the daemon serves.
type serving struct {
	listen        string
	insecure      bool
	cert, key     string // files
	api           api.Options
	documents     int // of an upload
	connections   int
	header        int64
	headerTimeout time.Duration
	idleTimeout   time.Duration
	grace         time.Duration
	level         slog.Level
	format        string
}

func defaultServing() serving {
	return serving{
		listen: "127.0.0.1:7337", api: api.Default(), documents: 1_000_000, connections: 512, header: 32 << 10, headerTimeout: 10 * time.Second,
		idleTimeout: 2 * time.Minute, grace: 5 * time.Second, level: slog.LevelInfo, format: "text",
	}
}

func servingKeys() []key {
	return []key{
		{
			name: "listen", flag: true, about: "address to listen at; port 0: one that is free",
			of: func(c *setup) field { return aText(&c.serving.listen) },
		},
		{
			name: "insecure-listen", about: "listen at an address that other machines can reach although there is no TLS",
			of: func(c *setup) field { return aSwitch(&c.serving.insecure) },
		},
		{
			name: "tls-cert", about: "file with the certificate, and those between it and its root; empty: no TLS",
			of: func(c *setup) field { return aText(&c.serving.cert) },
		},
		{
			name: "tls-key", about: "file with the certificate's key",
			of: func(c *setup) field { return aText(&c.serving.key) },
		},
		{
			name: "hosts", about: "names under which clients may call, beside localhost and the address that is listened at: NAME or NAME:PORT, with commas",
			of: func(c *setup) field { return aList(&c.serving.api.Hosts) },
		},
		{
			name: "origins", about: "origins from which pages in a browser may call, with commas; empty: none but percached's own",
			of: func(c *setup) field { return aList(&c.serving.api.Origins) },
		},
		{
			name: "shutdown-grace", about: "how long answers that are under way may take when the daemon ends",
			of: func(c *setup) field { return aDuration(&c.serving.grace) },
		},
		{
			name: "log-level", live: true, about: "debug, info, warn or error",
			of: func(c *setup) field { return aLevel(&c.serving.level) },
		},
		{
			name: "log-format", about: "text or json",
			of: func(c *setup) field { return aText(&c.serving.format) },
		},
	}
}

// boundKeys bound what clients may take.
func boundKeys() []key {
	return []key{
		{
			name: "max-body", about: "bytes of a request's body that is held in memory",
			of: func(c *setup) field { return aSize(&c.serving.api.MaxBody) },
		},
		{
			name: "max-upload", about: "bytes of an upload, as it is sent and as its compressed files unpack",
			of: func(c *setup) field { return aSize(&c.serving.api.MaxUpload) },
		},
		{
			name: "max-documents", about: "documents of an upload",
			of: func(c *setup) field { return anInt(&c.serving.documents) },
		},
		{
			name: "max-requests", about: "requests at the same time, a quarter of them uploads. A token gets as many places as are still free, so half of them while no other token wants one; further requests are answered 429",
			of: func(c *setup) field { return anInt(&c.serving.api.MaxRequests) },
		},
		{
			name: "max-streams", about: "streams of events at the same time, shared between tokens as max-requests is",
			of: func(c *setup) field { return anInt(&c.serving.api.MaxStreams) },
		},
		{
			name: "max-connections", about: "open connections, half of them without a token. Where there are more, the oldest that serves no request is closed, of the address or token that has most",
			of: func(c *setup) field { return anInt(&c.serving.connections) },
		},
		{
			name: "max-header", about: "bytes of a request's header, to which 4 KiB are added",
			of: func(c *setup) field { return aSize(&c.serving.header) },
		},
		{
			name: "header-timeout", about: "a client that has not sent its header after so long is given up; a client without a token may be silent for as long",
			of: func(c *setup) field { return aDuration(&c.serving.headerTimeout) },
		},
		{
			name: "send-timeout", about: "a client that sends nothing of its body for so long, or falls so far behind 1 KiB a second, is given up",
			of: func(c *setup) field { return aDuration(&c.serving.api.SendTimeout) },
		},
		{
			name: "write-timeout", about: "a client that reads nothing for so long is given up",
			of: func(c *setup) field { return aDuration(&c.serving.api.WriteTimeout) },
		},
		{
			name: "idle-timeout", about: "a connection of a client with a token is closed after so long without a request",
			of: func(c *setup) field { return aDuration(&c.serving.idleTimeout) },
		},
		{
			name: "ask-timeout", about: "a question takes no longer",
			of: func(c *setup) field { return aDuration(&c.serving.api.AskTimeout) },
		},
		{
			name: "heartbeat", about: "a stream of events says something at least so often",
			of: func(c *setup) field { return aDuration(&c.serving.api.Heartbeat) },
		},
	}
}

func aLevel(to *slog.Level) field {
	names := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	write := func(v slog.Level) string {
		for name, level := range names {
			if level == v {
				return name
			}
		}
		return v.String()
	}
	return fieldOf(to, "level", write, func(s string) (slog.Level, error) {
		v, ok := names[s]
		if !ok {
			return 0, errors.New("it is neither debug, info, warn nor error")
		}
		return v, nil
	})
}

// validate tells all that is wrong.
func (c *serving) validate(bad func(wrong bool, key, format string, args ...any)) {
	_, port, err := net.SplitHostPort(c.listen)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	bad(err != nil, "listen", "%q is no address with a port, as 127.0.0.1:7337 is", c.listen)
	bad(err == nil && !c.secure() && !c.insecure && !loopback(c.listen), "listen",
		"other machines can reach %s, and could read what is said there: set tls-cert and tls-key, or insecure-listen to true", c.listen)
	names := api.Default() // of which the names alone can be wrong
	names.Authorize, names.Ready, names.Hub = func(string) (g api.Grant, ok bool) { return }, func() (r api.Ready) { return }, &api.Hub{}
	names.Hosts = c.api.Hosts
	for _, f := range faultsIn(names.Validate()) {
		bad(true, "hosts", "%s", cmdline.Sentence(f.err))
	}
	names.Hosts, names.Origins = nil, c.api.Origins
	for _, f := range faultsIn(names.Validate()) {
		bad(true, "origins", "%s", cmdline.Sentence(f.err))
	}
	bad((c.cert == "") != (c.key == ""), "tls-cert", "tls-cert and tls-key are set together or not at all")
	bad(c.format != "text" && c.format != "json", "log-format", "%q is neither text nor json", c.format)
	for _, n := range []struct {
		key   string
		value int64
	}{
		{"max-body", c.api.MaxBody},
		{"max-upload", c.api.MaxUpload},
		{"max-documents", int64(c.documents)},
		{"max-requests", int64(c.api.MaxRequests)},
		{"max-streams", int64(c.api.MaxStreams)},
	} {
		bad(n.value < 1, n.key, "%d is not positive", n.value)
	}
	bad(c.connections < 2, "max-connections", "%d is less than 2: a client without a token needs one, and so does a client with one", c.connections)
	bad(c.header < 1<<10 || c.header > 16<<20, "max-header", "%d is not between 1KiB and 16MiB", c.header)
	for _, d := range []struct {
		key   string
		value time.Duration
	}{
		{"header-timeout", c.headerTimeout},
		{"send-timeout", c.api.SendTimeout},
		{"write-timeout", c.api.WriteTimeout},
		{"idle-timeout", c.idleTimeout},
		{"ask-timeout", c.api.AskTimeout},
		{"heartbeat", c.api.Heartbeat},
	} {
		bad(d.value <= 0, d.key, "%v is not positive", d.value)
	}
	bad(c.grace < 0, "shutdown-grace", "%v is negative", c.grace)
}

// secure: what is said goes over TLS.
func (c *serving) secure() bool { return c.cert != "" }

// certificate reads the pair of files, and is nil where there are none.
func (c *serving) certificate() (*tls.Config, error) {
	if !c.secure() {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return nil, cmdline.Misused(fault.New(fault.Invalid, "percached: serve", "the certificate cannot be used: %w", err))
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, nil
}

// loopback: no other machine can reach the address. A name but localhost may mean
// anything.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
