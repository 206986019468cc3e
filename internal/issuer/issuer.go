package issuer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/sync/singleflight"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/token"
)

const (
	keepKeys     = time.Hour        // without asking the issuer again
	fetchPause   = 10 * time.Second // between two requests of one address
	fetchTimeout = 10 * time.Second
	maxResponse  = 1 << 20     // bytes
	clockSkew    = time.Minute // between the issuer's clock and this one
	maxName      = 100         // characters of a caller's name
)

// Options name the issuer and what its tokens must contain.
type Options struct {
	Issuer   string // URL
	Audience string
	Claim    string // of the rights
	Now      func() time.Time
}

// Caller is who sent a token.
type Caller struct {
	ID     string // stands for issuer and subject
	Name   string // the subject
	Rights Rights
}

// Rights are the roles of a caller by space. The key "" is all spaces.
type Rights map[string]token.Role

// Refused is why a token is refused, with the cause for the log.
type Refused struct {
	error
	Cause error
}

// Unwrap returns the error for the client.
func (r *Refused) Unwrap() error { return r.error }

// Verifier verifies tokens of one issuer. It is safe for concurrent use.
type Verifier struct {
	Options
	client  *http.Client
	patient *patient

	opening singleflight.Group

	mu     sync.Mutex
	known  *oidc.IDTokenVerifier
	opened time.Time // when known was made
}

// New returns a verifier. It contacts nobody.
func New(o Options) *Verifier {
	p := &patient{next: http.DefaultTransport.(*http.Transport).Clone(), now: o.Now, last: map[string]*attempt{}}
	return &Verifier{Options: o, patient: p, client: &http.Client{
		Timeout:   fetchTimeout,
		Transport: p,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the issuer redirects, which percached does not follow")
		},
	}}
}

// IsToken says whether a secret has the form of a JSON Web Token. No other token of percached
// has a dot.
func IsToken(secret string) bool { return strings.Count(secret, ".") == 2 }

// Verify returns who sent a token. An error of the kind Unavailable says that the issuer cannot
// be asked, and one of the kind Invalid why the token is refused.
func (v *Verifier) Verify(ctx context.Context, secret string) (Caller, error) {
	const op = "issuer.Verify"
	verifier, err := v.verifier(ctx)
	if err != nil {
		return Caller{}, fault.New(fault.Unavailable, op, "cannot ask the issuer %s: %w", v.Issuer, err)
	}
	var away error
	t, err := verifier.Verify(context.WithValue(ctx, awayKey{}, &away), secret)
	if away != nil {
		return Caller{}, fault.New(fault.Unavailable, op, "cannot read the keys of the issuer %s: %w", v.Issuer, away)
	}
	if err != nil {
		if _, expired := errors.AsType[*oidc.TokenExpiredError](err); expired {
			return Caller{}, fault.New(fault.Invalid, op, "the token has expired")
		}
		// What go-oidc says is not for the client: it names what would be right.
		return Caller{}, &Refused{fault.New(fault.Invalid, op, "the issuer's token is refused: its signature, audience or time is wrong"), err}
	}
	if t.Subject == "" { // all such callers would be one
		return Caller{}, fault.New(fault.Invalid, op, "the token names no subject")
	}
	claims := map[string]json.RawMessage{}
	if err := t.Claims(&claims); err != nil {
		return Caller{}, fault.New(fault.Invalid, op, "its claims are not a JSON object")
	}
	sum := sha256.Sum256([]byte(t.Issuer + "\x00" + t.Subject))
	return Caller{ID: "oidc-" + hex.EncodeToString(sum[:6]), Name: printable(t.Subject), Rights: rightsOf(claims[v.Claim])}, nil
}

// verifier returns a verifier whose keys are fresh enough. It waits for the issuer outside of the
// lock, so that a caller who leaves waits no longer, and ends nothing for the others.
func (v *Verifier) verifier(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	v.mu.Lock()
	known, fresh := v.known, v.known != nil && v.Now().Sub(v.opened) <= keepKeys
	v.mu.Unlock()
	if fresh {
		return known, nil
	}
	opened := v.opening.DoChan("", func() (any, error) { return v.open(context.WithoutCancel(ctx)) })
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-opened:
		known, _ = got.Val.(*oidc.IDTokenVerifier)
		return known, got.Err
	}
}

// open asks the issuer where its keys are.
func (v *Verifier) open(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	ctx = oidc.ClientContext(ctx, v.client)
	now := v.Now()
	provider, err := oidc.NewProvider(ctx, v.Issuer)
	if err != nil {
		return nil, err
	}
	var at struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&at); err != nil {
		return nil, err
	}
	v.patient.forget(at.Keys) // the new set has no keys yet, so it may ask at once
	known := oidc.NewVerifier(v.Issuer, keySet{oidc.NewRemoteKeySet(ctx, at.Keys)}, &oidc.Config{
		ClientID: v.Audience, SupportedSigningAlgs: []string{oidc.RS256, oidc.ES256, oidc.EdDSA},
		Now: func() time.Time { return v.Now().Add(-clockSkew) }, // go-oidc allows five minutes for nbf
	})
	v.mu.Lock()
	v.known, v.opened = known, now
	v.mu.Unlock()
	return known, nil
}

// keySet are the issuer's keys. It notes in the context why they could not be read: that is no
// fault of the token.
type keySet struct{ *oidc.RemoteKeySet }

// awayKey is the key of a *error in a context.
type awayKey struct{}

// VerifySignature verifies a token's signature.
func (k keySet) VerifySignature(ctx context.Context, secret string) ([]byte, error) {
	payload, err := k.RemoteKeySet.VerifySignature(ctx, secret)
	// go-oidc wraps an error only if it could not read the keys.
	if away, ok := ctx.Value(awayKey{}).(*error); ok && errors.Unwrap(err) != nil && !errors.Is(err, errAskedNow) {
		*away = err
	}
	return payload, err
}

// printable returns a name without control characters, cut to a readable length.
func printable(name string) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(name, "")))
	return string(runes[:min(len(runes), maxName)])
}

// rightsOf reads a claim: a text or a list of texts, each SPACE:ROLE, or *:ROLE for all spaces.
// Others, such as groups of other programs, grant nothing.
func rightsOf(claim json.RawMessage) Rights {
	var all []string
	if json.Unmarshal(claim, &all) != nil {
		var words string
		if json.Unmarshal(claim, &words) != nil {
			return Rights{}
		}
		all = strings.Fields(words)
	}
	rights := Rights{}
	for _, one := range all {
		space, role, _ := strings.Cut(one, ":")
		switch {
		case !token.Role(role).IsValid():
			continue
		case space == "*":
			space = ""
		case !token.IsSpaceName(space):
			continue
		}
		if rank(token.Role(role)) > rank(rights[space]) {
			rights[space] = token.Role(role)
		}
	}
	return rights
}

// rank orders the roles.
func rank(r token.Role) int {
	return map[token.Role]int{token.RoleAsk: 1, token.RoleWrite: 2, token.RoleAdmin: 3}[r]
}

// patient is a transport that asks each address seldom, and reads little.
type patient struct {
	next http.RoundTripper
	now  func() time.Time

	mu   sync.Mutex
	last map[string]*attempt // by address
}

// attempt is a request.
type attempt struct {
	at     time.Time
	failed bool
}

// errAskedNow says that an address answered just now, so that it is not asked again.
var errAskedNow = errors.New("it was asked less than ten seconds ago")

// forget lets an address be asked again at once.
func (p *patient) forget(address string) {
	if u, err := url.Parse(address); err == nil {
		address = u.String()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, address)
}

// RoundTrip sends a request, unless the address was asked just now.
func (p *patient) RoundTrip(r *http.Request) (*http.Response, error) {
	if ip := net.ParseIP(r.URL.Hostname()); r.URL.Scheme != "https" && r.URL.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, errors.New("its keys are not behind https")
	}
	address := r.URL.String()
	p.mu.Lock()
	now := p.now()
	if last := p.last[address]; last != nil && now.Sub(last.at) < fetchPause {
		defer p.mu.Unlock()
		if last.failed {
			return nil, errors.New("it did not answer less than ten seconds ago")
		}
		return nil, errAskedNow
	}
	this := &attempt{now, true}
	p.last[address] = this
	p.mu.Unlock()
	resp, err := p.next.RoundTrip(r)
	if err == nil {
		resp.Body = limited{io.LimitReader(resp.Body, maxResponse), resp.Body}
		p.mu.Lock()
		this.failed = resp.StatusCode != http.StatusOK
		p.mu.Unlock()
	}
	return resp, err
}

// limited is a body that is not read beyond a limit.
type limited struct {
	io.Reader
	io.Closer
}
