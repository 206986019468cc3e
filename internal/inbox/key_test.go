package inbox_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
)

// The same key and content is the same upload; other content is a conflict.
func TestIdempotency(t *testing.T) {
	a, b := sent{"a.txt", "one"}, sent{"b.txt", "two"}
	for _, tc := range []struct {
		name  string
		key   string
		space string
		files []sent
		same  bool
		kind  fault.Kind
	}{
		{"the same", "k", "mail", []sent{a, b}, true, 0},
		{"another order", "k", "mail", []sent{b, a}, false, fault.Conflict},
		{"one less", "k", "mail", []sent{a}, false, fault.Conflict},
		{"one more", "k", "mail", []sent{a, b, {"c.txt", ""}}, false, fault.Conflict},
		{"another name", "k", "mail", []sent{a, {"c.txt", "two"}}, false, fault.Conflict},
		{"another text", "k", "mail", []sent{a, {"b.txt", "too"}}, false, fault.Conflict},
		{"parted elsewhere", "k", "mail", []sent{{"a.txt", "onet"}, {"b.txt", "wo"}}, false, fault.Conflict},
		{"names run into texts", "k", "mail", []sent{{"a.txtone", ""}, b}, false, fault.Conflict},
		{"nothing", "k", "mail", nil, false, fault.Invalid},
		{"another key", "K", "mail", []sent{a, b}, false, 0},
		{"no key", "", "mail", []sent{a, b}, false, 0},
		{"another space", "k", "other", []sent{a, b}, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newBank("mail", "other")
			o := options(t, s)
			o.MaxBytes = 12 // two of them
			dir := folder(t)
			in := open(t, dir, o)
			first := accept(t, in, "mail", "k", a, b)
			try := func(when string) {
				t.Helper()
				now, _ := in.Get("mail", first.ID)
				before := entries(t, dir)
				u, err := in.Accept(context.Background(), tc.space, tc.key, each(tc.files...))
				switch {
				case kind(err) != tc.kind:
					t.Errorf("%s: %v", when, err)
				case tc.same && cmp.Diff(now, u) != "":
					t.Errorf("%s: %s", when, cmp.Diff(now, u))
				case err == nil && !tc.same && u.ID == first.ID:
					t.Errorf("%s: taken for the first", when)
				case (err != nil || tc.same) && cmp.Diff(before, entries(t, dir)) != "":
					t.Errorf("%s: %s", when, cmp.Diff(before, entries(t, dir)))
				}
			}
			try("while it is queued")
			stop := run(t, in)
			wait(t, in, first.ID)
			for _, u := range in.List(tc.space, 10) {
				wait(t, in, u.ID)
			}
			if tc.same || tc.kind != 0 {
				try("when it is done")
			}
			stop()
			if err := in.Close(); err != nil {
				t.Fatal(err)
			}
			in = open(t, dir, o)
			if tc.same || tc.kind != 0 {
				try("after a restart")
			}
		})
	}
}

// One sender at a time may use a key; the second gets a conflict and does not disturb
// the first.
func TestKeyBeingSent(t *testing.T) {
	s := newBank("mail", "other")
	in := open(t, folder(t), options(t, s))
	u, err := in.Accept(context.Background(), "mail", "k", func(take inbox.Take) error {
		if _, err := in.Accept(context.Background(), "mail", "k", each(notes(0, 1)...)); kind(err) != fault.Conflict {
			t.Error(err)
		}
		accept(t, in, "mail", "", notes(0, 1)...)
		accept(t, in, "other", "k", notes(0, 1)...)
		return each(notes(0, 1)...)(take)
	})
	if err != nil {
		t.Fatal(err)
	}
	if again := accept(t, in, "mail", "k", notes(0, 1)...); again.ID != u.ID {
		t.Error("not the first")
	}
}

func TestKeep(t *testing.T) {
	s := newBank("mail", "other")
	o := options(t, s)
	var mu sync.Mutex
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	pass := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	o.Keep, o.KeepCount = 10*hour, 3
	dir := folder(t)
	in := open(t, dir, o)
	stop := run(t, in)
	first := wait(t, in, accept(t, in, "mail", "k", notes(0, 1)...).ID)
	for range 5 { // they push out none of another space
		wait(t, in, accept(t, in, "other", "", notes(0, 1)...).ID)
	}
	if got := in.List("other", 10); len(got) != 3 {
		t.Error(len(got))
	}
	pass(10 * hour)
	if again := accept(t, in, "mail", "k", notes(0, 1)...); again.ID != first.ID {
		t.Error("forgotten too early")
	}
	pass(1)
	again := accept(t, in, "mail", "k", notes(5, 6)...)
	if again.ID == first.ID {
		t.Error("remembered too long")
	}
	wait(t, in, again.ID)
	if _, err := in.Get("mail", first.ID); kind(err) != fault.NotFound {
		t.Error(err)
	}
	stop()
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	pass(11 * hour)
	in = open(t, dir, o)
	if left := append(in.List("mail", 10), in.List("other", 10)...); len(left) != 0 || len(entries(t, dir)) != 0 {
		t.Error(left, entries(t, dir))
	}
}
