package main

import (
	"fmt"
	"io"
)

// defaultSpace is the space of who names none.
const defaultSpace = "default"

const timeLayout = "2006-01-02T15:04:05Z07:00"

// printer writes until a write fails.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

const maxNamed = 20 // of many things that are alike
