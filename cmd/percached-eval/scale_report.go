package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/percached/percached/internal/base/cmdline"
)

// scaleReport has the points of curves.
type scaleReport struct{ Points []scalePoint }

// sort puts the points of each curve in order.
func (r *scaleReport) sort() {
	slices.SortStableFunc(r.Points, func(a, b scalePoint) int {
		if a.Of != b.Of {
			return slices.Index(scaleNames(), a.Of) - slices.Index(scaleNames(), b.Of)
		}
		return a.N - b.N
	})
}

// show prints a table for people, or lines of JSON.
func (r *scaleReport) show(w io.Writer, asJSON bool) error {
	if !asJSON {
		return r.Table(w)
	}
	to := json.NewEncoder(w)
	for _, p := range r.Points {
		if err := to.Encode(p); err != nil {
			return err
		}
	}
	return nil
}

// Table prints a table for each curve.
func (r *scaleReport) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	p := &cmdline.Printer{W: t}
	for _, c := range scaleCurves() {
		heads := []string{c.name}
		for _, column := range c.columns {
			heads = append(heads, column.head)
		}
		head := strings.Join(heads, "\t") + "\t"
		for _, point := range r.Points {
			if point.Of != c.name {
				continue
			}
			if head != "" {
				p.Line("%s", head)
				head = ""
			}
			cells := []string{fmt.Sprint(point.N)}
			for _, column := range c.columns {
				cells = append(cells, point.Values.text(column.value))
			}
			p.Line("%s", strings.Join(cells, "\t")+"\t")
		}
		if head == "" {
			p.Line("")
		}
	}
	if p.Err != nil {
		return p.Err
	}
	return t.Flush()
}

// text is a value as the table shows it.
func (v scaleValues) text(name string) string {
	x, ok := v[name]
	switch {
	case !ok:
		return "-"
	case strings.HasSuffix(name, "_bytes"):
		return fmt.Sprintf("%.1f", x/(1<<20))
	case strings.HasSuffix(name, "_share"):
		return fmt.Sprintf("%.0f %%", 100*x)
	case strings.HasSuffix(name, "_ms") && x < 100:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// verdict is an error if a client's request failed.
func (r *scaleReport) verdict() error {
	if slices.ContainsFunc(r.Points, func(p scalePoint) bool { return p.Values["failed"] > 0 }) {
		return cmdline.Unwell{}
	}
	return nil
}
