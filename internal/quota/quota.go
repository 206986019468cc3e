package quota

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/token"
)

// Use is what a limit counts.
type Use uint8

// The uses.
const (
	Request Use = iota // of HTTP
	Ask                // a question, or a chat
	Upload             // bytes
)

// Refusal says which limit is reached.
type Refusal struct {
	Limit string        // in words
	After time.Duration // until it allows more
}

// fileName is the file in the data folder.
const fileName = "quotas.json"

const version = 1

const dayForm = "2006-01-02"

// Counter counts the uses of all tokens.
type Counter struct {
	path string
	now  func() time.Time

	mu      sync.Mutex
	day     string               // that used belongs to
	used    map[string]*counts   // by token ID
	due     map[string]time.Time // by token ID: when the requests so far are paid for, at the rate of the limit
	changed bool                 // since Save
}

// counts are what a token used in a day.
type counts struct {
	Asks  int64 `json:"asks"`
	Bytes int64 `json:"bytes"`
}

// file is the content of quotas.json.
type file struct {
	Version int                `json:"version"`
	Day     string             `json:"day"`
	Tokens  map[string]*counts `json:"tokens"`
}

// Open returns the counter of a data folder. The error says why the counts of the day are lost;
// the counter then begins at zero.
func Open(dir string, now func() time.Time) (*Counter, error) {
	c := &Counter{path: filepath.Join(dir, fileName), now: now, used: map[string]*counts{}, due: map[string]time.Time{}}
	b, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	var f file
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err == nil && f.Version != version {
		err = fmt.Errorf("it has version %d", f.Version)
	}
	if err != nil {
		return c, fault.New(fault.Unavailable, "quota.Open", "cannot read %s: %w", c.path, err)
	}
	c.day = f.Day
	for id, n := range f.Tokens {
		if n != nil {
			c.used[id] = n
		}
	}
	return c, nil
}

// Take books n uses of a token, or says which of its limits they exceed. A negative n gives uses
// back.
func (c *Counter) Take(id string, l token.Limits, use Use, n int64) *Refusal {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now().UTC()
	if use == Request {
		return c.takeRequest(id, l.RequestsPerMinute, now)
	}
	limit, words := l.AsksPerDay, "%d questions a day"
	if use == Upload {
		limit, words = l.UploadPerDay, "%d bytes of uploads a day"
	}
	if limit == nil {
		return nil
	}
	if day := now.Format(dayForm); day != c.day {
		c.day, c.changed = day, true
		clear(c.used)
	}
	used := c.used[id]
	if used == nil {
		used = &counts{}
	}
	count := &used.Asks
	if use == Upload {
		count = &used.Bytes
	}
	if n > 0 && n > *limit-*count {
		midnight := now.Truncate(24 * time.Hour).Add(24 * time.Hour)
		return &Refusal{fmt.Sprintf(words, *limit), midnight.Sub(now)}
	}
	*count = max(0, *count+n) // the day may have ended since
	c.used[id], c.changed = used, true
	return nil
}

// takeRequest books one request.
func (c *Counter) takeRequest(id string, limit *int64, now time.Time) *Refusal {
	if limit == nil {
		return nil
	}
	words := fmt.Sprintf("%d requests a minute", *limit)
	if *limit == 0 {
		return &Refusal{words, time.Minute}
	}
	each := time.Minute / time.Duration(*limit)
	due := c.due[id]
	if due.Before(now) {
		due = now
	}
	if early := due.Add(each).Sub(now.Add(time.Minute)); early > 0 {
		return &Refusal{words, early}
	}
	c.due[id] = due.Add(each)
	return nil
}

// Save writes the counts of the day, if they have changed.
func (c *Counter) Save() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.changed {
		return nil
	}
	b, err := json.Marshal(file{version, c.day, c.used})
	if err == nil {
		err = durable.Write(c.path, append(b, '\n'))
	}
	if err != nil {
		return fault.New(fault.Unavailable, "quota.Save", "cannot write %s: %w", c.path, err)
	}
	c.changed = false
	return nil
}
