package main

import (
	"fmt"

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
	if e := m.Experts; e != nil {
		resident := "how much of it is in memory is unknown here"
		if e.ResidentBytes != nil {
			resident = fmt.Sprintf("%s are in memory now (%.0f %%)", cmdline.Size(*e.ResidentBytes), 100*float64(*e.ResidentBytes)/float64(max(1, e.Bytes)))
		}
		p.Line("  experts  %s of these; %s", cmdline.Size(e.Bytes), resident)
		if e.MappedBytes > 0 {
			p.Line("  warning  the memory does not hold all experts: the model reads %s of them from its file when it uses them (mmap), so answers are slower", cmdline.Size(e.MappedBytes))
		}
	}
	p.Line("  margin   %s stay free for percached itself and other programs", cmdline.Size(m.MarginBytes))
	if m.RoomBytes != nil {
		p.Line("  room     %s for keys and values: 60 %% of what is left beside these", cmdline.Size(*m.RoomBytes))
	}
	switch {
	case m.WeightBytes == 0:
		p.Line("context    unknown: there is no language model")
	case m.Context == 0:
		p.Line("context    none: %s", m.Why)
	default:
		p.Line("context    %d tokens, %s of keys and values: %s", m.Context, cmdline.Size(m.UsedBytes), m.Why)
	}
	if s := b.Sharing; s != nil {
		p.Line("memory use %s", s.Why)
		if s.SliceLimitBytes > 0 || s.SliceBytes > 0 {
			p.Line("  slices   %s of at most %s of stored tensors are in memory; %d were loaded from there", cmdline.Size(s.SliceBytes), cmdline.Size(s.SliceLimitBytes), s.SliceHits)
		}
		p.Line("  typing   %s for texts that are being typed", cmdline.Size(s.TypedBytes))
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
