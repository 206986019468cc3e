//go:build !linux

package kv

import "sync"

// guarded holds the open folders. Only on Linux do their files get their blocks before badger
// writes to them.
var guarded = sync.OnceValue(func() *folders { return &folders{by: map[string]*allocation{}} })

func allocateCounts(string) error { return nil }
