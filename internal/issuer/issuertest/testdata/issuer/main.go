// Command issuer runs the OpenID provider of github.com/zitadel/oidc for tests. It prints its
// address. A scope percached:SPACE:ROLE puts SPACE:ROLE into the claim percached, and a scope
// aud:NAME puts NAME into the audience. POST /rotate?alg=ALG replaces the signing key.
package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// provider is the storage of the example, with keys that change and claims from scopes.
type provider struct {
	*storage.Storage

	mu  sync.Mutex
	key key
	n   int
}

// key signs tokens.
type key struct {
	id      string
	alg     jose.SignatureAlgorithm
	private crypto.Signer
}

func (k key) ID() string                                  { return k.id }
func (k key) SignatureAlgorithm() jose.SignatureAlgorithm { return k.alg }
func (k key) Key() any                                    { return k.private }

// public is the public part of a key.
type public struct{ key }

func (p public) Algorithm() jose.SignatureAlgorithm { return p.alg }
func (p public) Use() string                        { return "sig" }
func (p public) Key() any                           { return p.private.Public() }

func (p *provider) rotate(alg jose.SignatureAlgorithm) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var private crypto.Signer
	var err error
	switch alg {
	case jose.RS256, jose.PS256:
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	case jose.ES256:
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case jose.EdDSA:
		_, private, err = ed25519.GenerateKey(rand.Reader)
	default:
		err = fmt.Errorf("no algorithm %q", alg)
	}
	if err == nil {
		p.n++
		p.key = key{fmt.Sprint("key", p.n), alg, private}
	}
	return err
}

func (p *provider) SigningKey(context.Context) (op.SigningKey, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.key, nil
}

func (p *provider) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return []jose.SignatureAlgorithm{p.key.alg}, nil
}

func (p *provider) KeySet(context.Context) ([]op.Key, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return []op.Key{public{p.key}}, nil
}

func (p *provider) ClientCredentials(ctx context.Context, id, secret string) (op.Client, error) {
	c, err := p.Storage.ClientCredentials(ctx, id, secret)
	return client{c}, err
}

// client gets JSON Web Tokens.
type client struct{ op.Client }

func (client) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeJWT }

func (p *provider) ClientCredentialsTokenRequest(ctx context.Context, id string, scopes []string) (op.TokenRequest, error) {
	r, err := p.Storage.ClientCredentialsTokenRequest(ctx, id, scopes)
	if t, ok := r.(*oidc.JWTTokenRequest); ok {
		t.Audience = nil
		for _, scope := range scopes {
			if name, ok := strings.CutPrefix(scope, "aud:"); ok {
				t.Audience = append(t.Audience, name)
			}
		}
	}
	return r, err
}

func (p *provider) GetPrivateClaimsFromScopes(_ context.Context, _, _ string, scopes []string) (map[string]any, error) {
	rights := []string{}
	for _, scope := range scopes {
		if right, ok := strings.CutPrefix(scope, "percached:"); ok {
			rights = append(rights, right)
		}
	}
	return map[string]any{"percached": rights}, nil
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	at := "http://" + listener.Addr().String()
	p := &provider{Storage: storage.NewStorage(storage.NewUserStore(at))}
	if err := p.rotate(jose.RS256); err != nil {
		log.Fatal(err)
	}
	router := exampleop.SetupServer(at, p, slog.New(slog.NewTextHandler(io.Discard, nil)), false)
	router.Post("/rotate", func(w http.ResponseWriter, r *http.Request) {
		if err := p.rotate(jose.SignatureAlgorithm(r.URL.Query().Get("alg"))); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	})
	fmt.Println(at)
	log.Fatal(http.Serve(listener, router))
}
