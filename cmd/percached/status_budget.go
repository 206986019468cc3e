package main

import (
	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

// printBudget prints what percached takes of the machine, as a calculation.
func printBudget(p *cmdline.Printer, b client.StatusBudget) {
	m, d := b.Memory, b.Disk
	switch {
	case m.FreeBytes == nil:
		p.Line("memory     the free memory is unknown here")
	case m.TotalBytes == nil:
		p.Line("memory     %s free now", cmdline.Size(*m.FreeBytes))
	default:
		p.Line("memory     %s, of which %s are free now", cmdline.Size(*m.TotalBytes), cmdline.Size(*m.FreeBytes))
	}
	if m.WeightBytes > 0 {
		p.Line("  weights  %s of the language model", cmdline.Size(m.WeightBytes))
	}
	p.Line("  margin   %s stay free for percached itself and other programs", cmdline.Size(m.MarginBytes))
	if m.RoomBytes != nil {
		p.Line("  room     %s for keys and values: 60 %% of what is left beside these", cmdline.Size(*m.RoomBytes))
	}
	switch {
	case m.WeightBytes == 0 && m.Context > 0:
		p.Line("context    %d tokens, on the server of engine-url", m.Context)
	case m.WeightBytes == 0:
		p.Line("context    unknown: there is no language model")
	case m.Context == 0:
		p.Line("context    none: %s", m.Why)
	default:
		p.Line("context    %d tokens, %s of keys and values: %s", m.Context, cmdline.Size(m.UsedBytes), m.Why)
	}
	if d.FreeBytes == nil {
		p.Line("disk       the free space is unknown here; stored tensors take %s", cmdline.Size(d.HeldBytes))
	} else {
		p.Line("disk       %s free now; stored tensors take %s", cmdline.Size(*d.FreeBytes), cmdline.Size(d.HeldBytes))
	}
	p.Line("  reserve  %s stay free", cmdline.Size(d.ReserveBytes))
	p.Line("tensors    at most %s: %s", cmdline.Size(d.LimitBytes), d.Why)
	if b.Changed != nil {
		p.Line("changed    %s", *b.Changed)
	}
}
