package backend

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/percached/percached/internal/node"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/qabank"
)

const (
	maxImportLine     = 1 << 20 // bytes
	maxImportQuestion = 8 << 10 // bytes; nobody can ask a longer one
	maxImportHits     = 1 << 20 // more would keep an entry for good
	maxImportRefused  = 1000    // lines that are named; more are counted
	importBatch       = 32      // questions that get their vectors together
)

// export gives every answered entry of a space, by ID.
func (b *Backend) exportEntries(ctx context.Context, space string, each func(api.ExportedEntry) error) error {
	if _, err := b.Knowledge.Space(space); err != nil {
		return err
	}
	return b.Bank.Each(space, func(e qabank.Entry) error {
		if err := ctx.Err(); err != nil || !e.Answered {
			return err
		}
		return each(wireExported(e))
	})
}

// wireExported names chunks by the hash of their text, as they are called in every
// space: so an entry can be imported where the same text is.
func wireExported(e qabank.Entry) api.ExportedEntry {
	out := api.ExportedEntry{
		Question: e.Question, Answer: e.Answer, Refused: e.Refused, Cut: e.Cut, Evidence: []percached.ChunkID{}, Sources: e.Sources,
		Origin: e.Origin, Settings: e.Settings, Made: e.Made, Expires: e.Expires, Hits: e.Hits,
	}
	for _, ev := range e.Evidence {
		out.Evidence = append(out.Evidence, ev.Chunk)
	}
	return out
}

// importing is one import under way.
type importing struct {
	*node.Node
	space string
	ids   percached.PublicIDs
	out   api.Imported
	batch []importedLine
}

type importedLine struct {
	api.ExportedEntry
	line int
}

// importEntries brings exported entries in, line by line. What cannot be taken is
// named, and the rest goes on; with an error, what was done stays done.
func (b *Backend) importEntries(ctx context.Context, space string, lines io.Reader) (api.Imported, error) {
	i := &importing{Node: b.Node, space: space, out: api.Imported{Refused: []api.ImportRefused{}}}
	var err error
	if i.ids, err = b.Knowledge.PublicIDs(space); err != nil {
		return i.out, err
	}
	err = i.all(ctx, lines)
	slices.SortFunc(i.out.Refused, func(a, b api.ImportRefused) int { return a.Line - b.Line })
	b.Scheduler.Changed(space)
	return i.out, err
}

func (i *importing) all(ctx context.Context, lines io.Reader) error {
	in := bufio.NewReaderSize(lines, 64<<10)
	for n := 1; ; n++ {
		line, long, err := importLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return errors.Join(err, i.flush(ctx))
		}
		switch e, why := readImported(line); {
		case long:
			i.refuse(n, "it has more than 1 MiB")
		case len(line) == 0:
		case why != "":
			i.refuse(n, why)
		default:
			i.batch = append(i.batch, importedLine{e, n})
		}
		if err != nil || len(i.batch) == importBatch {
			if late := i.flush(ctx); late != nil || err != nil {
				return late
			}
		}
	}
}

func (i *importing) refuse(line int, why string) {
	if len(i.out.Refused) == maxImportRefused {
		i.out.Unnamed++
		return
	}
	i.out.Refused = append(i.out.Refused, api.ImportRefused{Line: line, Reason: why})
}

// importLine gives the next line without the spaces around it. One that is too
// long is passed over.
func importLine(in *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxImportLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSpace(line), long, err
		}
	}
}

// readImported reads a line, or says why it cannot be taken in. It says nothing of
// what stands in it.
func readImported(line []byte) (e api.ExportedEntry, why string) {
	if !utf8.Valid(line) {
		return e, "it is no UTF-8"
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && kind.Field != "" {
			return e, "it is no exported entry: " + kind.Field + " is of another type"
		}
		return e, "it is no exported entry"
	}
	if dec.More() {
		return e, "more than one entry stands in it"
	}
	switch {
	case qabank.Normalise(e.Question) == "":
		why = "the question says nothing"
	case len(e.Question) > maxImportQuestion:
		why = "the question is too long"
	case strings.TrimSpace(e.Answer) == "":
		why = "the answer says nothing"
	case len(e.Evidence) == 0:
		why = "it names no evidence"
	case e.Origin == "", e.Origin == "imported": // somebody wrote the line, and it may have been imported before
		e.Origin = "asked"
	case e.Origin != "asked" && e.Origin != "predicted":
		why = "the origin is neither asked nor predicted"
	}
	return e, why
}

// flush stores the lines that were read.
func (i *importing) flush(ctx context.Context) error {
	batch := i.batch
	if i.batch = nil; len(batch) == 0 {
		return nil
	}
	questions := make([]string, len(batch))
	for n, l := range batch {
		questions[n] = l.Question
	}
	vectors, err := i.QuestionEmbedder.Embed(ctx, percached.Foreground, questions)
	if err != nil {
		return err
	}
	for n, l := range batch {
		// Nobody forgets a chunk between the look whether it is there and the storing.
		if err := i.Asker.Keep(func() error { return i.store(ctx, l, vectors[n]) }); err != nil {
			return err
		}
	}
	return nil
}
