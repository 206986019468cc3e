package main

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/enronqa"
	"github.com/percached/percached/eval/locomo"
	"github.com/percached/percached/eval/mised"
	"github.com/percached/percached/eval/plain"
	"github.com/percached/percached/internal/base/cmdline"
)

// dataSource says where documents and questions come from.
type dataSource struct {
	dataset, path, inboxes, kind string
	users, meetings              int
}

func (s *dataSource) flags(f *pflag.FlagSet) {
	f.StringVar(&s.dataset, "dataset", "", "Format of the data: enronqa, locomo, mised, qmsum or plain")
	f.StringVar(&s.path, "path", "", "File or folder of the data")
	f.IntVar(&s.users, "users", 0, "Number of users, from the first; 0: all")
	f.StringVar(&s.inboxes, "inboxes", "", "Folder of whole inboxes (enronqa only)")
	f.IntVar(&s.meetings, "meetings", 4, "Meetings of one user (mised and qmsum only)")
	f.StringVar(&s.kind, "kind", "emails", "Kind of documents (plain only): emails, dialog, meetings or notes")
}

func (s *dataSource) check() error {
	switch {
	case !slices.Contains([]string{"enronqa", "locomo", "mised", "qmsum", "plain"}, s.dataset):
		return cmdline.Misusef("--dataset must be enronqa, locomo, mised, qmsum or plain, not %q", s.dataset)
	case s.path == "":
		return cmdline.Misusef("--path must name a file or folder")
	case s.users < 0 || s.meetings < 1:
		return cmdline.Misusef("--users must not be negative, and --meetings at least 1")
	case !slices.Contains([]string{"emails", "dialog", "meetings", "notes"}, s.kind):
		return cmdline.Misusef("--kind must be emails, dialog, meetings or notes, not %q", s.kind)
	case s.inboxes != "" && s.dataset != "enronqa":
		return cmdline.Misusef("--inboxes needs --dataset enronqa")
	}
	return nil
}

func (s *dataSource) load() (*eval.Data, error) {
	switch s.dataset {
	case "enronqa":
		return enronqa.Load(s.path, enronqa.Options{Users: s.users, Inboxes: s.inboxes})
	case "locomo":
		return locomo.Load(s.path, s.users)
	case "plain":
		d, err := plain.Load(s.path)
		if err == nil {
			d.Sets[0].Kind = s.kind
		}
		return d, err
	}
	return mised.Load(s.path, mised.Options{Users: s.users, Meetings: s.meetings})
}
