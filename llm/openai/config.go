package openai

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/percached/percached/internal/base/fault"
)

// Config is how a server is reached.
type Config struct {
	URL   string // with or without /v1 at its end
	Key   string // empty: the server wants none
	Model string // its name on the server
	// Context is the maximum of tokens of a prompt and its answer; 0: what the server says.
	Context int
	Queue   int // requests of each priority that may wait
	// Silence is how long a server may send nothing of a response that has begun, or that it
	// computes.
	Silence time.Duration
	// Patience is how long Open waits for a server that does not answer yet.
	Patience time.Duration
	Now      func() time.Time
	// Wait pauses between two tries.
	Wait func(ctx context.Context, d time.Duration) error

	uncached bool // the server must not use its prefix cache: answers then repeat bit for bit
}

// Default is a configuration without a server.
func Default() Config {
	return Config{Queue: 64, Silence: 5 * time.Minute, Patience: time.Minute, Now: time.Now, Wait: wait}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// CheckURL says what is wrong with the address of a server. insecure allows plain HTTP to
// another machine, which everybody on the way could read.
func CheckURL(address string, insecure bool) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("the address must be a URL such as http://127.0.0.1:8080")
	case u.User != nil:
		return errors.New("the URL must not contain a user or a password: put the key into engine-key-file")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("the URL must end with its path")
	case u.Scheme == "http" && !insecure && !isLoopback(u.Hostname()):
		return fmt.Errorf("others could read documents and the key on the way to %s: use https, or set insecure-engine to true", u.Host)
	}
	return nil
}

// isLoopback says that a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// SameOrigin says that two URLs are of one server, so that a key for one is for the other too.
func SameOrigin(a, b string) bool {
	u, err1 := url.Parse(a)
	v, err2 := url.Parse(b)
	return err1 == nil && err2 == nil && u.Scheme == v.Scheme && strings.EqualFold(u.Host, v.Host)
}

const maxKey = 8 << 10 // bytes of a key file

// ReadKey reads the key of a server from a file: its first line. No name, no key.
func ReadKey(file string) (string, error) {
	const op = "percached: engine-key-file"
	if file == "" {
		return "", nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return "", fault.New(fault.Unavailable, op, "cannot read %s: %w", file, err)
	}
	key, _, _ := strings.Cut(strings.TrimSpace(string(b[:min(len(b), maxKey)])), "\n")
	key = strings.TrimSpace(key)
	switch {
	case key == "":
		return "", fault.New(fault.Invalid, op, "%s is empty: write the server's key into its first line", file)
	case strings.ContainsFunc(key, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) || r == ' ' }):
		return "", fault.New(fault.Invalid, op, "%s holds no key in its first line: a key has neither spaces nor letters beyond ASCII", file)
	}
	return key, nil
}

// base is the URL without /v1.
func (c *Config) base() string {
	return strings.TrimSuffix(strings.TrimRight(c.URL, "/"), "/v1")
}
