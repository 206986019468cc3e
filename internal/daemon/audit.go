package daemon

import (
	"errors"
	"time"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/audit"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/config"
)

// checkAudit refuses an audit log in an encrypted data folder: it would show who used it, and
// when, to whoever copies the folder.
func checkAudit(c config.Config) error {
	if c.AuditInside() && home.Encrypted(c.Data) {
		return &config.KeyError{Key: "audit-log", Err: errors.New("the data folder is encrypted and the audit log is not: name a file outside of the data folder")}
	}
	return nil
}

// OpenAudit opens the audit log of a configuration. It is nil if there is none.
func OpenAudit(c config.Config) (*audit.Log, error) {
	if err := checkAudit(c); err != nil {
		return nil, cmdline.Misused(err)
	}
	path := c.AuditLog()
	if path == "" {
		return nil, nil
	}
	return audit.Open(path, time.Now)
}

// auditOptions record what the interface does.
func (d *daemon) auditOptions() api.Audit {
	if d.audit == nil {
		return api.Audit{}
	}
	var user string
	if !d.daemon { // a command works for the user who runs it
		user = audit.User()
	}
	return api.Audit{Ready: d.audit.Ready, Write: func(a api.Audited) {
		err := d.audit.Write(audit.Record{
			User: user, Answer: a.Answer,
			Operation: a.Operation, Token: a.Token, Name: a.Name, Space: a.Space, Outcome: a.Outcome, Status: a.Status, Request: a.Request,
			IDs: a.IDs, Counts: a.Counts, Keys: a.Keys, Sync: a.Sync,
		})
		if err != nil {
			d.log.Error("an operation is not in the audit log", "id", a.Request, "error", err)
		}
	}}
}
