package api

import (
	"maps"
	"slices"
	"strings"
)

// Grant is the rights of a token: a role in one space, or in all spaces. A caller of an issuer
// may have more.
type Grant struct {
	Token string // the token's id, never its secret
	Name  string // the token's name; may be empty
	Space string // empty: all spaces, and operations that concern no space
	Role  Role
	// More are roles in further spaces. Nil: none.
	More map[string]Role
}

// permits says whether a grant allows an operation in this space.
func (g Grant) permits(n access, space string) bool {
	switch n.scope {
	case scopeAll:
		return g.Space == "" && g.Role >= n.role
	case scopeSpace:
		return g.roleIn(space) >= n.role
	}
	best := g.Role
	for _, r := range g.More {
		best = max(best, r)
	}
	return best >= n.role
}

// roleIn returns the role in a space; 0: none.
func (g Grant) roleIn(space string) (r Role) {
	if g.Space == "" || g.Space == space {
		r = g.Role
	}
	return max(r, g.More[space])
}

// isOwner says whether a grant allows everything.
func (g Grant) isOwner() bool { return g.Space == "" && g.Role == RoleAdmin }

// sees says whether a grant includes a space.
func (g Grant) sees(space string) bool { return g.roleIn(space) > 0 }

// isScoped says whether a grant is for single spaces.
func (g Grant) isScoped() bool { return g.Space != "" }

// spaces lists the spaces of a scoped grant.
func (g Grant) spaces() []string {
	all := append(slices.Collect(maps.Keys(g.More)), g.Space)
	slices.Sort(all)
	return slices.Compact(all)
}

// audience names what a grant sees: equal for grants that see the same. Names of spaces have no
// comma.
func (g Grant) audience() string {
	if !g.isScoped() {
		return ""
	}
	return strings.Join(g.spaces(), ",")
}

// equal says whether two grants are the same.
func (g Grant) equal(other Grant) bool {
	return g.Token == other.Token && g.Name == other.Name && g.Space == other.Space && g.Role == other.Role && maps.Equal(g.More, other.More)
}
