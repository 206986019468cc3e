package scheduler

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

// answers reports these subjects as due answers in space mail.
func answers(subjects ...string) func(context.Context, string, Kind, int) ([]Due, error) {
	return func(_ context.Context, space string, kind Kind, _ int) (due []Due, err error) {
		if space == "mail" && kind == Answer {
			for _, s := range subjects {
				due = append(due, Due{Subject: s})
			}
		}
		return due, nil
	}
}

func (d *desk) set(key, value []byte) {
	d.t.Helper()
	must(d.t, d.db.Update(func(tx *kv.Tx) error { return tx.Set(key, value) }))
}

// An invalid configuration is refused with all its faults.
func TestOpenInvalid(t *testing.T) {
	_, err := Open(Options{Config: Config{IdleAfter: -1}})
	if fault.KindOf(err) != fault.Invalid {
		t.Fatal(err)
	}
	for _, part := range []string{"database", "worker", "clock", "-1"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
}

// Unreadable records are deleted and reported, the rest stays. Records of a later version
// are left alone.
func TestOpenDamaged(t *testing.T) {
	credits := []Credit{{ID: named("chunk"), Saves: time.Second}}
	d := sit(t, &script{
		due: answers("done", "left", "spoiled"),
		do:  func(context.Context, Job) (Done, error) { return Done{Credits: credits}, nil },
	})
	d.step()
	must(t, d.s.Pause())
	hash := kv.NewSpaceID("mail")
	id := func(subject string) []byte {
		raw := Job{Kind: Answer, Space: "mail", Subject: subject}.id()
		return raw[:]
	}
	right := recordKey(queueByte, hash, id("left")...)
	var value []byte
	must(t, d.db.View(func(tx *kv.Tx) (err error) {
		value, err = tx.Get(right)
		return err
	}))
	foreign := newSpaceState("notes")
	for _, r := range []record{
		{recordKey(queueByte, hash, id("spoiled")...), []byte("nonsense")},
		{recordKey(queueByte, hash, id("other")...), value},                                             // under another's key
		{recordKey(queueByte, foreign.hash, id("left")...), value},                                      // of a space that is not
		{recordKey(queueByte, hash, 1, 2), value},                                                       // too short a key
		{recordKey(spaceByte, foreign.hash), encodeBook(right, foreign)},                                // wrong checksum
		{recordKey(spaceByte, kv.SpaceID{1}), encodeBook(recordKey(spaceByte, kv.SpaceID{1}), foreign)}, // another's name
		{pageKey(hash, 3), nil},
		{recordKey(creditByte, hash, make([]byte, 16)...), []byte{formatVersion}},
		{[]byte{ownByte, budgetByte}, []byte("x")},
		{[]byte{ownByte, pauseByte}, []byte("whatever: it is there")},
	} {
		d.set(r.key, r.value)
	}
	for _, want := range []int{9, 0} { // the second time there is no damage
		d.broken = nil
		d.open()
		if len(d.broken) != want {
			t.Errorf("%d records told, want %d: %v", len(d.broken), want, d.broken)
		}
		for _, err := range d.broken {
			if !errors.Is(err, sealed.ErrDamaged) {
				t.Error(err)
			}
		}
		if q := d.s.Queue(); len(q) != 1 || q[0].Subject != "left" || q[0].Space != "mail" {
			t.Errorf("%+v", q)
		}
		if st, err := d.s.Status(); err != nil || st.State != Paused {
			t.Errorf("%+v, %v", st, err)
		}
		d.s.RecordUse("mail", 0, nil, [][16]byte{named("chunk")})
		accounts, err := d.s.Ledger("", time.Time{})
		must(t, err)
		if len(accounts) != 1 || accounts[0].Jobs != 1 || accounts[0].Earned != 1 {
			t.Errorf("%+v", accounts)
		}
	}
	d.set(right, sealedAs(right, []byte("of a time to come"), formatVersion+1))
	if _, err := Open(d.s.o); fault.KindOf(err) != fault.Unsupported {
		t.Error(err)
	}
}

// A closed scheduler returns an error.
func TestClosed(t *testing.T) {
	d := sit(t, &script{due: answers("a")})
	must(t, d.s.Close())
	_, stepErr := d.s.Step(t.Context())
	_, statusErr := d.s.Status()
	_, ledgerErr := d.s.Ledger("", time.Time{})
	for _, err := range []error{stepErr, statusErr, ledgerErr} {
		if fault.KindOf(err) != fault.Unavailable {
			t.Error(err)
		}
	}
}

// The ledger deletes only very old days.
func TestOldDays(t *testing.T) {
	d := sit(t, &script{due: answers("a")})
	var want []int
	for _, after := range []int{0, 399, 2, 500} {
		d.now = d.now.Add(time.Duration(after) * day)
		d.s.Changed("mail")
		if st := d.step(); st.End != EndDone {
			t.Fatalf("%+v", st)
		}
		accounts, err := d.s.Ledger("mail", time.Time{})
		must(t, err)
		d.open()
		again, err := d.s.Ledger("mail", time.Time{})
		must(t, err)
		if diff := cmp.Diff(accounts, again); diff != "" {
			t.Error(diff)
		}
		want = append(want, accounts[0].Jobs)
	}
	if diff := cmp.Diff([]int{1, 2, 2, 1}, want); diff != "" {
		t.Error(diff)
	}
}

// What cannot be written stays in memory and is written later.
func TestDiskFails(t *testing.T) {
	dir := t.TempDir()
	db := openDB(t, dir)
	now := noon()
	o := Options{DB: db, Config: atNoon(), Now: func() time.Time { return now }, Worker: &script{
		due: func(_ context.Context, _ string, kind Kind, _ int) ([]Due, error) {
			return map[Kind][]Due{Answer: {{Subject: "a", From: noon().Add(time.Hour)}}}[kind], nil
		},
		do: func(context.Context, Job) (Done, error) {
			return Done{Questions: 1, Credits: []Credit{{ID: named("a")}, {ID: named("b")}}}, nil
		},
	}}
	s, err := Open(o)
	must(t, err)
	if _, err := s.Step(t.Context()); err != nil || len(s.Queue()) != 1 {
		t.Fatal(err, s.Queue())
	}
	must(t, db.Close())
	now = now.Add(time.Hour)
	st, err := s.Step(t.Context())
	if err == nil || st.End != EndDone || len(s.Queue()) != 1 {
		t.Errorf("%+v, %v, %+v", st, err, s.Queue())
	}
	s.RevokeCredits("mail", [][16]byte{named("b")})
	for name, do := range map[string]func() error{
		"Pause": s.Pause, "Flush": s.Flush, "Forget": func() error { return s.Forget("mail") },
		"Retry": func() error { return s.Retry(s.Queue()[0].ID()) }, "DropSpace": func() error { return s.DropSpace("other") },
	} {
		if do() == nil {
			t.Errorf("%s: no error", name)
		}
	}

	o.DB = openDB(t, dir)
	defer o.DB.Close()
	s.o.DB = o.DB
	must(t, s.Flush())
	again, err := Open(o)
	must(t, err)
	same(t, s, again)
	if n := again.usage.questions; n != 1 {
		t.Errorf("%d questions are booked", n)
	}
	if len(again.states[kv.NewSpaceID("mail")].credits) != 1 {
		t.Error("the credits are wrong")
	}
}

// A clock that was ahead causes no delay after its correction.
func TestClockSetBack(t *testing.T) {
	fails := true
	d := sit(t, &script{due: answers("a"), do: func(context.Context, Job) (Done, error) {
		if fails {
			return Done{}, errors.New("no")
		}
		return Done{}, nil
	}})
	d.now = d.now.Add(300 * day)
	if st := d.step(); st.End != EndFailed {
		t.Fatalf("%+v", st)
	}
	d.s.Foreground()()
	d.now, fails = noon(), false
	if st := d.step(); st.Job != nil || !st.Wake.Equal(d.now.Add(d.config.IdleAfter)) {
		t.Errorf("%+v", st)
	}
	d.now = d.now.Add(d.config.IdleAfter)
	if st := d.step(); st.End != EndDone {
		t.Errorf("%+v", st)
	}
}
