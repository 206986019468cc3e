package node

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/knowledgebank"
)

// Repaired is the result of a repair.
type Repaired struct {
	Damage  []kv.Damage // files with unreadable parts
	Aside   string      // the damaged database; empty if the database is sound
	Spaces  []RepairedSpace
	Lost    int  // documents of spaces whose names are lost
	Changed bool // something was repaired
}

// RepairedSpace is the result of a repair of one space.
type RepairedSpace struct {
	Name string
	knowledgebank.Repaired
}

// Repair recovers the readable part of a damaged data folder that is not in use, makes the
// spaces consistent, and rebuilds derived data. named are spaces whose records may be lost.
// With an error it returns the result so far.
func Repair(ctx context.Context, c config.Config, named []percached.Space, log *slog.Logger, stderr io.Writer) (r Repaired, err error) {
	h, err := home.Open(c.Data, c.KeySource())
	if err != nil {
		return r, err
	}
	defer func() {
		if shut := h.Close(); err == nil {
			err = shut
		}
	}()
	if err := CheckMeta(h); err != nil {
		return r, err
	}
	saved, err := kv.Salvage(ctx, h.Path("meta"), MetaOptions(h, log))
	if err != nil {
		return r, err
	}
	r.Damage, r.Aside, r.Changed = saved.Lost, saved.Aside, !saved.Sound
	if err := r.repairSpaces(h, log, named); err != nil || !r.Changed {
		return r, err
	}
	if err := os.RemoveAll(h.Path("index")); err != nil { // it may be newer than the documents
		return r, err
	}
	h.Unclean = true // Open deletes answers and tensors of lost chunks
	n, err := Open(ctx, Options{Config: c, Dependencies: Dependencies{Folder: h}}, false, stderr)
	if err != nil {
		return r, err
	}
	return r, n.Close()
}

func (r *Repaired) repairSpaces(h *home.Home, log *slog.Logger, named []percached.Space) (err error) {
	db, err := kv.Open(h.Path("meta"), MetaOptions(h, log))
	if err != nil {
		return err
	}
	defer func() {
		if shut := db.Close(); err == nil {
			err = shut
		}
	}()
	bank, err := knowledgebank.Open(db, knowledgebank.Default())
	if err != nil {
		return err
	}
	all, err := bank.Spaces()
	if err != nil {
		return err
	}
	for _, s := range named {
		if !slices.ContainsFunc(all, func(a percached.Space) bool { return a.Name == s.Name }) {
			all = append(all, s)
		}
	}
	for _, s := range all {
		done, err := bank.Repair(s)
		if err != nil {
			return err
		}
		r.Spaces = append(r.Spaces, RepairedSpace{s.Name, done})
		r.Changed = r.Changed || done.Changed
	}
	r.Lost, err = bank.Lost()
	return err
}
