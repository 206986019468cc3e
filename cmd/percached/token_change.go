package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/audit"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/daemon"
	"github.com/percached/percached/internal/token"
)

// audited changes tokens, and records it in the audit log that the configuration of the data
// folder names. Without access to that log, nothing is changed.
func audited(dir, operation string, change func() (audit.Record, error)) error {
	conf, err := config.Load("", os.Environ(), []config.Setting{config.FromFlag("data", dir)}, nil)
	if err != nil {
		return err
	}
	return auditedIn(conf.Now(), operation, change)
}

// auditedIn makes a change, and records it in the audit log of a configuration.
func auditedIn(c config.Config, operation string, change func() (audit.Record, error)) error {
	fresh := !home.Exists(c.Data) // the log may belong in the folder that the change makes
	var log *audit.Log
	var err error
	if !fresh {
		if log, err = daemon.OpenAudit(c); err != nil {
			return err
		}
	}
	r, err := change()
	if fresh && err == nil {
		var wrong error
		if log, wrong = daemon.OpenAudit(c); wrong != nil {
			return &unrecorded{wrong}
		}
	}
	if log == nil {
		return err
	}
	defer log.Close() //nolint:errcheck // Write has synced
	r.Operation, r.User, r.Sync, r.Outcome = operation, audit.User(), true, "done"
	if err != nil {
		r.Outcome = "failed"
	}
	if wrong := log.Write(r); err == nil && wrong != nil {
		err = &unrecorded{wrong}
	}
	return err
}

// unrecorded is the error of a change that was made, and is not in the audit log. Its result is
// printed: a new secret is not shown again.
type unrecorded struct{ error }

func (u *unrecorded) Unwrap() error { return u.error }

// tokenRecord is the record of a change of a token.
func tokenRecord(t token.Token) audit.Record {
	if t.ID == "" {
		return audit.Record{}
	}
	return audit.Record{Space: t.Space, IDs: audit.IDs{"token": t.ID, "name": t.Name}}
}

// noLimit is the value of a flag that removes a limit.
const noLimit = "none"

// limitFlags are the flags of a token's limits, as text. Empty: unchanged.
type limitFlags struct{ requests, asks, upload string }

func (f *limitFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.requests, "requests-per-minute", "", "Maximum number of requests a minute, or none (default none)")
	cmd.Flags().StringVar(&f.asks, "asks-per-day", "", "Maximum number of questions and chats a day, or none (default none)")
	cmd.Flags().StringVar(&f.upload, "upload-per-day", "", "Maximum size of documents uploaded a day, such as 100MiB, or none (default none)")
}

// apply sets the limits that flags name.
func (f *limitFlags) apply(l *token.Limits) error {
	number := func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }
	for _, one := range []struct {
		flag, text string
		read       func(string) (int64, error)
		to         **int64
	}{
		{"requests-per-minute", f.requests, number, &l.RequestsPerMinute},
		{"asks-per-day", f.asks, number, &l.AsksPerDay},
		{"upload-per-day", f.upload, cmdline.ParseSize, &l.UploadPerDay},
	} {
		switch one.text {
		case "":
			continue
		case noLimit:
			*one.to = nil
			continue
		}
		n, err := one.read(one.text)
		if err != nil || n < 0 {
			return cmdline.Misusef("--%s must be a number of at least 0, or none; not %q", one.flag, one.text)
		}
		*one.to = &n
	}
	return nil
}

// boundText says how a token is limited, behind its name.
func (l *tokenLine) boundText() string {
	var all []string
	if n := l.Limits.RequestsPerMinute; n != nil {
		all = append(all, fmt.Sprintf("%d requests a minute", *n))
	}
	if n := l.Limits.AsksPerDay; n != nil {
		all = append(all, fmt.Sprintf("%d questions a day", *n))
	}
	if n := l.Limits.UploadPerDay; n != nil {
		all = append(all, fmt.Sprintf("%d bytes of uploads a day", *n))
	}
	if !l.Expires.IsZero() {
		all = append(all, "ends "+timeText(l.Expires))
	}
	if all == nil {
		return ""
	}
	return " (" + strings.Join(all, ", ") + ")"
}

func tokenLimit() *cobra.Command {
	var set limitFlags
	cmd := tokenSubcommand("limit ID", "Set the quotas of a token", cobra.ExactArgs(1), withStore(func(s *token.Store, args []string) (cmdline.Report, error) {
		if set == (limitFlags{}) {
			return nil, cmdline.Misusef("name a limit: --requests-per-minute, --asks-per-day or --upload-per-day")
		}
		if err := set.apply(&token.Limits{}); err != nil {
			return nil, err
		}
		var t token.Token
		err := audited(s.Dir(), "token.limit", func() (r audit.Record, err error) {
			t, err = s.SetLimits(args[0], func(l *token.Limits) { _ = set.apply(l) }) // checked above
			return tokenRecord(t), err
		})
		return &limitReport{newTokenLine(t)}, err
	}))
	cmd.Long = `Sets quotas of a token, beside those that it has. What is above a quota gets status 429. Days
end at midnight UTC. The main token has no quotas.`
	cmd.Example = `  percached token limit 5e0f6c1d2b3a --asks-per-day 200 --upload-per-day 100MiB`
	set.flags(cmd)
	return cmd
}

// limitReport is a token whose limits were changed.
type limitReport struct{ tokenLine }

func (r *limitReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	bounds := r.boundText()
	if bounds == "" {
		bounds = " (no limits)"
	}
	p.Line("%s %s%s", r.ID, r.Name, bounds)
	return p.Err
}

func tokenRotate() *cobra.Command {
	var grace time.Duration
	cmd := tokenSubcommand("rotate ID", "Replace the secret of a token; the old one works for a time", cobra.ExactArgs(1), withStore(func(s *token.Store, args []string) (cmdline.Report, error) {
		if grace < 0 {
			return nil, cmdline.Misusef("--grace must not be negative")
		}
		r := &rotatedReport{}
		err := audited(s.Dir(), "token.rotate", func() (audit.Record, error) {
			secret, t, old, err := s.Rotate(args[0], grace)
			r.tokenLine, r.Secret = newTokenLine(t), secret
			rec := tokenRecord(t)
			if old.ID != "" {
				line := newTokenLine(old)
				r.Old, rec.IDs["old"] = &line, old.ID
			}
			return rec, err
		})
		return r, err
	}))
	cmd.Long = `Prints a new secret with the same rights and limits. The old secret works for the time of
grace, as a token of its own that percached token list shows; percached token revoke ends it
before. The ID main rotates the main token: commands on this machine use the new one at once.`
	cmd.Example = `  percached token rotate main --grace 48h`
	cmd.Flags().DurationVar(&grace, "grace", 24*time.Hour, "Time for which the old secret works; 0s: not at all")
	return cmd
}

// rotatedReport prints the new secret of a token.
type rotatedReport struct {
	tokenLine
	Secret string     `json:"secret"`
	Old    *tokenLine `json:"old,omitempty"`
}

// Table prints the secret alone, so that a script can read it.
func (r *rotatedReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	p.Line("%s", r.Secret)
	return p.Err
}

// printNote explains the secret on stderr.
func (r *rotatedReport) printNote(stderr io.Writer) {
	if r.Old == nil {
		cmdline.Say(stderr, "token %s: the old secret is revoked; the new one is not shown again", r.ID)
		return
	}
	cmdline.Say(stderr, "token %s: the old secret works until %s as token %s; percached token revoke %s ends it now", r.ID, timeText(r.Old.Expires), r.Old.ID, r.Old.ID)
}
