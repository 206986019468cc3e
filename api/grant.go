package api

// Role is what the bearer of a token may do; each may do what those before may.
type Role uint8

// The roles.
const (
	RoleAsk   Role = iota + 1 // ask, and read what answers rest on
	RoleWrite                 // add and forget documents, correct stored answers
	RoleAdmin                 // settings, limits, whole spaces, configuration
)

// Grant is what a token allows: a role in one space, or in all.
type Grant struct {
	Token string // its id, never the secret
	Space string // empty: all spaces, and what belongs to none
	Role  Role
}

// need is what a grant must hold for an operation.
type need struct {
	role  Role
	reach reach
}

// reach says where a role is needed.
type reach uint8

const (
	toAll    reach = iota // no token is needed
	toMember              // anywhere: the operation shows a space's own only
	toSpace               // in the space of the path
	toWhole               // in all spaces
)

func open() need             { return need{} }
func anywhere(r Role) need   { return need{r, toMember} }
func inSpace(r Role) need    { return need{r, toSpace} }
func everywhere(r Role) need { return need{r, toWhole} }

// meets says whether a grant suffices, for an operation in this space.
func (g Grant) meets(n need, space string) bool {
	switch {
	case g.Role < n.role:
		return false
	case n.reach == toWhole:
		return g.Space == ""
	case n.reach == toSpace:
		return g.sees(space)
	}
	return true
}

// owner says whether a grant is that of who owns the daemon: it may do everything.
func (g Grant) owner() bool { return g.Space == "" && g.Role == RoleAdmin }

// sees says whether a space is one of the grant's.
func (g Grant) sees(space string) bool { return g.Space == "" || g.Space == space }
