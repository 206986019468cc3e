package quota_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/quota"
	"github.com/percached/percached/internal/token"
)

func limit(n int64) *int64 { return &n }

// counter is a counter whose time a test moves.
func counter(t *testing.T) (dir string, c *quota.Counter, now *time.Time) {
	t.Helper()
	dir, now = t.TempDir(), new(time.Date(2026, 1, 2, 23, 0, 0, 0, time.UTC))
	return dir, open(t, dir, now), now
}

func open(t *testing.T, dir string, now *time.Time) *quota.Counter {
	t.Helper()
	c, err := quota.Open(dir, func() time.Time { return *now })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// takes books uses one after the other, and counts those before the first refusal.
func takes(c *quota.Counter, id string, l token.Limits, use quota.Use, n int64) (booked int, refused *quota.Refusal) {
	for booked < 1000 {
		if refused = c.Take(id, l, use, n); refused != nil {
			return booked, refused
		}
		booked++
	}
	return booked, nil
}

func TestDay(t *testing.T) {
	dir, c, now := counter(t)
	l := token.Limits{AsksPerDay: limit(3), UploadPerDay: limit(100)}
	for _, tc := range []struct {
		id   string
		use  quota.Use
		n    int64
		want int
	}{{"a", quota.Ask, 1, 3}, {"a", quota.Upload, 40, 2}, {"b", quota.Ask, 1, 3}, {"a", quota.Upload, 20, 1}} {
		booked, refused := takes(c, tc.id, l, tc.use, tc.n)
		if booked != tc.want || refused == nil || refused.After != time.Hour || !strings.Contains(refused.Limit, "a day") {
			t.Errorf("%+v: %d, %+v", tc, booked, refused)
		}
	}
	// What is given back can be used again, and no more.
	if c.Take("a", l, quota.Upload, -20) != nil || c.Take("a", l, quota.Upload, 20) != nil || c.Take("a", l, quota.Upload, 1) == nil {
		t.Error("uses that were given back")
	}
	if c.Take("c", l, quota.Upload, -20) != nil || c.Take("c", l, quota.Upload, 101) == nil {
		t.Error("more was given back than was booked")
	}
	// The counts survive a restart, and end at midnight.
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir, now)
	if again.Take("a", l, quota.Ask, 1) == nil || again.Take("b", l, quota.Upload, 101) == nil || again.Take("b", l, quota.Upload, 100) != nil {
		t.Error("the counts were lost, or others booked")
	}
	*now = now.Add(time.Hour)
	if booked, _ := takes(again, "a", l, quota.Ask, 1); booked != 3 {
		t.Errorf("%d on the next day", booked)
	}
	if n, _ := takes(open(t, dir, now), "a", l, quota.Ask, 1); n != 3 {
		t.Error("counts of the day before")
	}
}

// A minute's requests may come at once, then one each time that one is due.
func TestMinute(t *testing.T) {
	_, c, now := counter(t)
	l := token.Limits{RequestsPerMinute: limit(6)}
	booked, refused := takes(c, "a", l, quota.Request, 1)
	if booked != 6 || refused == nil || refused.After != 10*time.Second {
		t.Errorf("%d, %+v", booked, refused)
	}
	*now = now.Add(9 * time.Second)
	if r := c.Take("a", l, quota.Request, 1); r == nil || r.After != time.Second {
		t.Error(r)
	}
	*now = now.Add(time.Second)
	if booked, _ := takes(c, "a", l, quota.Request, 1); booked != 1 {
		t.Error(booked)
	}
	*now = now.Add(time.Hour)
	if booked, _ := takes(c, "a", l, quota.Request, 1); booked != 6 {
		t.Error(booked)
	}
}

func TestNoLimitAndZero(t *testing.T) {
	dir, c, _ := counter(t)
	zero := token.Limits{RequestsPerMinute: limit(0), AsksPerDay: limit(0), UploadPerDay: limit(0)}
	for _, use := range []quota.Use{quota.Request, quota.Ask, quota.Upload} {
		if booked, _ := takes(c, "a", token.Limits{}, use, 1); booked != 1000 {
			t.Errorf("%d of %d without a limit", booked, use)
		}
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "quotas.json")); use == quota.Request && err == nil {
			t.Error("a file was written without a limit")
		}
		if booked, refused := takes(c, "a", zero, use, 1); booked != 0 || refused.After <= 0 {
			t.Errorf("%d of %d, %+v", booked, use, refused)
		}
	}
}

// A file that cannot be read is reported, and the counts begin at zero.
func TestDamaged(t *testing.T) {
	for name, text := range map[string]string{"no JSON": "{", "newer": `{"version": 2}`, "null": `{"version": 1, "day": "2026-01-02", "tokens": {"a": null}}`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "quotas.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := quota.Open(dir, func() time.Time { return time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC) })
		if (name == "null") != (err == nil) || err != nil && fault.KindOf(err) != fault.Unavailable {
			t.Error(name, err)
		}
		if c.Take("a", token.Limits{AsksPerDay: limit(1)}, quota.Ask, 1) != nil {
			t.Error(name)
		}
		if err := c.Save(); err != nil {
			t.Error(name, err)
		}
	}
}
