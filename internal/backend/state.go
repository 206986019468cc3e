package backend

import (
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/telemetry"
)

// State is what metrics and the status show.
func (b *Backend) State() (telemetry.State, error) {
	const month = 30 * 24 * time.Hour
	tree, err := b.Tree.Stats()
	if err != nil {
		return telemetry.State{}, err
	}
	m := telemetry.State{
		Tensors: telemetry.Room{Bytes: tree.Bytes, Limit: tree.Limit}, Disk: telemetry.Room{Bytes: tree.Disk, Limit: tree.Limit + tree.Slack},
		Slices: tree.Nodes, Queue: map[string]int{}, Ledger: map[string]telemetry.Account{},
		Questions: b.Asker.Waiting(), Uploads: b.Inbox.Waiting(), Listeners: b.Hub.Subscribers(),
	}
	m.Bank.Bytes, m.Bank.Limit = b.Bank.Usage()
	spaces, err := b.Knowledge.Spaces()
	if err != nil {
		return m, err
	}
	m.Spaces = len(spaces)
	for _, sp := range spaces {
		st, err := b.Knowledge.Stats(sp.Name)
		if fault.KindOf(err) == fault.NotFound { // it went meanwhile
			continue
		}
		if err != nil {
			return m, err
		}
		bank := b.Bank.Stats(sp.Name)
		m.Documents, m.Chunks = m.Documents+st.Documents, m.Chunks+st.Chunks
		m.Entries, m.Answered, m.Stale = m.Entries+bank.Entries, m.Answered+bank.Answered, m.Stale+bank.Stale
	}
	idle, err := b.Scheduler.Status()
	if err != nil {
		return m, err
	}
	m.Idle, m.Parked = string(idle.State), len(idle.Parked)
	for kind, n := range idle.Jobs {
		m.Queue[string(kind)] = n
	}
	accounts, err := b.Scheduler.Ledger("", b.Now().Add(-month))
	for _, a := range accounts {
		m.Ledger[string(a.Kind)] = telemetry.Account{Spent: a.Seconds, Saved: a.Earned}
	}
	return m, err
}
