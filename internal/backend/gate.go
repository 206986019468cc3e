package backend

import (
	"context"

	"github.com/percached/percached/api"
	"github.com/percached/percached/qabank/gate"
)

// gate reports what the gate of a space has served and found.
func (b *Backend) gate(_ context.Context, in api.InSpace) (api.GateReport, error) {
	r, err := b.Asker.GateReport(in.Space)
	return wireGateReport(r), err
}

func wireGateReport(r gate.Report) api.GateReport {
	return api.GateReport{
		MaxWrong: r.MaxWrong, State: string(r.State), Threshold: r.Threshold, Served: r.Served, Checked: r.Checked, Wrong: r.Wrong,
		Estimate: r.Estimate, Low: r.Low, High: r.High,
	}
}
