package api

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
)

// A caller of an issuer has a role in each of its spaces, and no other rights.
func TestGrantOfSeveralSpaces(t *testing.T) {
	several := Grant{Token: "a", Space: "mail", Role: RoleAsk, More: map[string]Role{"team": RoleAdmin}}
	everywhereAsk := Grant{Token: "b", Role: RoleAsk, More: map[string]Role{"mail": RoleWrite}}
	for name, tc := range map[string]struct {
		g     Grant
		need  access
		space string
		want  bool
	}{
		"ask in the first":          {several, inSpace(RoleAsk), "mail", true},
		"write in the first":        {several, inSpace(RoleWrite), "mail", false},
		"admin in the second":       {several, inSpace(RoleAdmin), "team", true},
		"ask elsewhere":             {several, inSpace(RoleAsk), "home", false},
		"no space":                  {several, inSpace(RoleAsk), "", false},
		"all spaces":                {several, everywhere(RoleAsk), "", false},
		"admin anywhere":            {several, anywhere(RoleAdmin), "", true},
		"ask in all":                {everywhereAsk, inSpace(RoleAsk), "home", true},
		"write in all":              {everywhereAsk, inSpace(RoleWrite), "home", false},
		"write in one":              {everywhereAsk, inSpace(RoleWrite), "mail", true},
		"ask of what is for all":    {everywhereAsk, everywhere(RoleAsk), "", true},
		"write of what is for all":  {everywhereAsk, everywhere(RoleWrite), "", false},
		"admin of what is for any":  {everywhereAsk, anywhere(RoleAdmin), "", false},
		"a token for a space":       {Grant{Space: "mail", Role: RoleAdmin}, inSpace(RoleAdmin), "mail", true},
		"a token for another space": {Grant{Space: "mail", Role: RoleAdmin}, inSpace(RoleAsk), "team", false},
	} {
		if tc.g.permits(tc.need, tc.space) != tc.want {
			t.Error(name)
		}
	}
	if several.isOwner() || everywhereAsk.isOwner() || !several.isScoped() || everywhereAsk.isScoped() {
		t.Error("who owns, and who is scoped")
	}
	if several.equal(everywhereAsk) || !several.equal(several) || several.equal(Grant{Token: "a", Space: "mail", Role: RoleAsk}) {
		t.Error("equal")
	}
}

// Such a caller is shown its spaces alone, and hears their events alone.
func TestCallerOfSeveralSpaces(t *testing.T) {
	bus := &EventBus{}
	srv := testServer(t, Backend{
		Space: func(_ context.Context, in InSpace) (Space, error) {
			if in.Space == "gone" {
				return Space{}, fault.New(fault.NotFound, "test", "no such space")
			}
			return Space{Name: in.Space}, nil
		},
		Ask: func(_ context.Context, q AskRequest, _ Listener) (Answer, error) { return Answer{Answer: q.Space}, nil },
	}, func(o *Options) {
		o.Events = bus
		o.Authorize = func(context.Context, string) (Grant, error) {
			return Grant{Token: "a", Space: "mail", Role: RoleAsk, More: map[string]Role{"team": RoleAsk, "gone": RoleAsk}}, nil
		}
	})
	_, text := send(t, srv, "GET /v1/spaces", "")
	var all Spaces
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err, text)
	}
	var names []string
	for _, s := range all.Spaces {
		names = append(names, s.Name)
	}
	if d := cmp.Diff([]string{"mail", "team"}, names); d != "" {
		t.Error(d)
	}
	for model, want := range map[string]int{"mail": 200, "team": 200, "home": 403} {
		if resp, _ := send(t, srv, "POST /v1/chat/completions", `{"model":"`+model+`","messages":[{"role":"user","content":"?"}]}`); resp.StatusCode != want {
			t.Errorf("%s: %d", model, resp.StatusCode)
		}
	}
	in, end := listenTo(t, srv, adminToken)
	defer end()
	bus.Publish(Event{Type: EventAnswer, Space: "home"})
	bus.Publish(Event{Type: EventAnswer})
	bus.Publish(Event{Type: EventAnswer, Space: "team"})
	if e, ok := nextEvent(t, in); !ok || !strings.Contains(e.data, `"space":"team"`) {
		t.Errorf("%+v", e)
	}
	bus.Forget("team")
	if n := len(bus.journals); n != 0 {
		t.Errorf("%d streams are kept", n)
	}
}

// A token that cannot be checked now is not refused for good.
func TestIssuerUnavailable(t *testing.T) {
	var err error
	srv := testServer(t, Backend{}, func(o *Options) {
		o.Authorize = func(context.Context, string) (Grant, error) { return Grant{}, err }
	})
	for want, fails := range map[int]error{
		503: fault.New(fault.Unavailable, "test", "cannot ask"), 401: fault.New(fault.Invalid, "test", "the token has expired"),
	} {
		err = fails
		resp, text := send(t, srv, "GET /v1/about", "")
		if resp.StatusCode != want || (resp.Header.Get("WWW-Authenticate") != "") != (want == 401) {
			t.Error(resp.StatusCode, text)
		}
	}
}
