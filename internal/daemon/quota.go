package daemon

import (
	"context"
	"time"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/quota"
)

// quotaInterval is the time between two writes of the counts.
const quotaInterval = time.Minute

// openQuotas reads the counts of the day. Lost counts are no reason not to start.
func (d *daemon) openQuotas() {
	var err error
	if d.quotas, err = quota.Open(d.config.Data, time.Now); err != nil {
		d.log.Warn("the quotas of today begin at zero", "error", err)
	}
}

// takeQuota books a use of a token.
func (d *daemon) takeQuota(id string, use api.QuotaUse, n int64) *api.QuotaRefusal {
	as := map[api.QuotaUse]quota.Use{api.UseRequest: quota.Request, api.UseAsk: quota.Ask, api.UseUpload: quota.Upload}[use]
	if no := d.quotas.Take(id, d.tokens.LimitsOf(id), as, n); no != nil {
		return &api.QuotaRefusal{Limit: no.Limit, After: no.After}
	}
	return nil
}

// saveQuotas writes the counts until ctx ends.
func (d *daemon) saveQuotas(ctx context.Context, when <-chan time.Time) {
	for {
		select {
		case <-when:
		case <-ctx.Done():
			return
		}
		if err := d.quotas.Save(); err != nil {
			d.log.Warn("the counts of quotas are not saved", "error", err)
		}
	}
}
