package daemon

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/issuer"
	"github.com/percached/percached/internal/token"
)

// roles maps the roles of tokens to those of the interface.
var roles = map[token.Role]api.Role{
	token.RoleAsk: api.RoleAsk, token.RoleWrite: api.RoleWrite, token.RoleAdmin: api.RoleAdmin,
}

// authorize returns the rights of a token: one of percached, or one of the issuer.
func (d *daemon) authorize(ctx context.Context, secret string) (api.Grant, error) {
	if d.issuer != nil && issuer.IsToken(secret) {
		return d.authorizeCaller(ctx, secret)
	}
	t, ok := d.tokens.Check(secret)
	role, known := roles[t.Role]
	if !ok || !known {
		return api.Grant{}, fault.New(fault.Invalid, "percached: authorize", "the token is unknown")
	}
	return api.Grant{Token: t.ID, Name: t.Name, Space: t.Space, Role: role}, nil
}

// authorizeCaller returns the rights of a caller with a token of the issuer.
func (d *daemon) authorizeCaller(ctx context.Context, secret string) (api.Grant, error) {
	c, err := d.issuer.Verify(ctx, secret)
	if refused, ok := errors.AsType[*issuer.Refused](err); ok {
		d.log.Info("refused a token of the issuer", "cause", refused.Cause)
	}
	if err != nil {
		return api.Grant{}, err
	}
	g := grantOf(c)
	if g.Role == 0 {
		return api.Grant{}, fault.New(fault.Invalid, "percached: authorize", "the token's claim %s names no space and role, such as mail:ask", d.config.Serving.OIDC.SpaceClaim)
	}
	return g, nil
}

// grantOf turns a caller's rights into a grant: a right in all spaces comes first.
func grantOf(c issuer.Caller) api.Grant {
	g := api.Grant{Token: c.ID, Name: c.Name}
	for i, space := range slices.Sorted(maps.Keys(c.Rights)) {
		role := roles[c.Rights[space]]
		if i == 0 {
			g.Space, g.Role = space, role
			continue
		}
		if g.More == nil {
			g.More = map[string]api.Role{}
		}
		g.More[space] = role
	}
	return g
}
