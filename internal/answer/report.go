package answer

import "github.com/percached/percached/qabank/gate"

// GateReport returns what the gate of a space has served and found, and what is in force.
func (a *Asker) GateReport(space string) (gate.Report, error) {
	set, err := a.Settings(space)
	if err != nil {
		return gate.Report{}, err
	}
	return gate.Report{MaxWrong: set.MaxWrong, State: gate.Proven, Threshold: 2}, nil
}
