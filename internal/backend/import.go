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

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/qabank"
)

const (
	maxImportLine     = 1 << 20 // bytes
	maxImportQuestion = 8 << 10 // bytes; longer questions are refused when asked
	maxImportHits     = 1 << 20 // a higher count would keep an entry forever
	maxImportRefused  = 1000    // lines that are listed; others are only counted
	importBatch       = 32      // questions embedded together
)

// exportEntries calls each with every answered entry of a space, ordered by ID.
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

// wireExported names chunks by the hash of their text, so that another space with the same
// text can import the entry.
func wireExported(e qabank.Entry) api.ExportedEntry {
	out := api.ExportedEntry{
		Question: e.Question, Answer: e.Answer, Refused: e.Refused, Cut: e.Cut, Evidence: []percached.ChunkID{}, Sources: e.Sources,
		Origin: e.Origin, Under: e.Under, Settings: e.Settings, Made: e.Made, Expires: e.Expires, Hits: e.Hits,
	}
	for _, ev := range e.Evidence {
		out.Evidence = append(out.Evidence, ev.Chunk)
	}
	return out
}

// importRun is one import.
type importRun struct {
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

// importEntries imports exported entries line by line. It lists the lines that it refuses.
// After an error the earlier lines stay imported.
func (b *Backend) importEntries(ctx context.Context, space string, lines io.Reader) (api.Imported, error) {
	i := &importRun{Node: b.Node, space: space, out: api.Imported{Refused: []api.ImportRefused{}}}
	var err error
	if i.ids, err = b.Knowledge.PublicIDs(space); err != nil {
		return i.out, err
	}
	err = i.readAll(ctx, lines)
	slices.SortFunc(i.out.Refused, func(a, b api.ImportRefused) int { return a.Line - b.Line })
	b.Scheduler.Changed(space)
	return i.out, err
}

func (i *importRun) readAll(ctx context.Context, lines io.Reader) error {
	in := bufio.NewReaderSize(lines, 64<<10)
	for n := 1; ; n++ {
		line, long, err := importLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return errors.Join(err, i.flush(ctx))
		}
		switch e, why := readImported(line); {
		case long:
			i.refuse(n, "the line has more than 1 MiB")
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

func (i *importRun) refuse(line int, why string) {
	if len(i.out.Refused) == maxImportRefused {
		i.out.Unnamed++
		return
	}
	i.out.Refused = append(i.out.Refused, api.ImportRefused{Line: line, Reason: why})
}

// importLine returns the next line without the spaces around it. It skips the text of a line
// that is too long.
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

// readImported parses a line, or returns why it is refused. The reason quotes nothing of the
// line.
func readImported(line []byte) (e api.ExportedEntry, why string) {
	if !utf8.Valid(line) {
		return e, "the line is not UTF-8"
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && kind.Field != "" {
			return e, "the line is not an exported entry: wrong type of " + kind.Field
		}
		return e, "the line is not an exported entry"
	}
	if dec.More() {
		return e, "the line has more than one entry"
	}
	switch {
	case qabank.Normalise(e.Question) == "":
		why = "the question is empty"
	case len(e.Question) > maxImportQuestion:
		why = "the question is too long"
	case strings.TrimSpace(e.Answer) == "":
		why = "the answer is empty"
	case len(e.Evidence) == 0:
		why = "the evidence is empty"
	case e.Origin == "", e.Origin == "imported": // the line is written by hand, or was imported before
		e.Origin = "asked"
	case e.Origin != "asked" && e.Origin != "predicted":
		why = "the origin is neither asked nor predicted"
	}
	return e, why
}

// flush stores the batch.
func (i *importRun) flush(ctx context.Context) error {
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
		// Keep prevents the deletion of chunks between the check and the write.
		if err := i.Asker.Keep(func() error { return i.store(ctx, l, vectors[n]) }); err != nil {
			return err
		}
	}
	return nil
}

// store adds an imported entry to the bank if the space has all its chunks. The entry keeps
// its settings mark, so that an answer of another model is not served. It has seen no
// change of this space, so it is compared with a search before it is served.
func (i *importRun) store(ctx context.Context, l importedLine, vector []float32) error {
	l.Evidence, l.Sources = i.resolveChunks(l.Evidence), i.resolveChunks(l.Sources)
	ids := slices.Concat(l.Evidence, l.Sources)
	alive, err := i.Knowledge.Versions(i.space, ids)
	if err != nil && !errors.Is(err, knowledgebank.ErrDamaged) { // damaged chunks count as missing
		return err
	}
	if slices.ContainsFunc(ids, func(id percached.ChunkID) bool { _, ok := alive[id]; return !ok }) {
		i.refuse(l.line, "the space lacks a chunk of the evidence")
		return nil
	}
	now := i.Now()
	e := qabank.Entry{
		Space: i.space, Question: l.Question, Answer: l.Answer, Answered: true, Refused: l.Refused, Cut: l.Cut, Vector: vector, Embedder: i.Embedder.Info().Fingerprint,
		Sources: l.Sources, Origin: l.Origin, Under: l.Under, Settings: l.Settings, Made: l.Made, Expires: l.Expires, Hits: min(l.Hits, maxImportHits),
	}
	for _, id := range l.Evidence {
		e.Evidence = append(e.Evidence, percached.Evidence{Chunk: id, Version: alive[id]})
	}
	if e.Made.IsZero() || e.Made.After(now) {
		e.Made = now
	}
	if e.Expires.IsZero() && qabank.RelativeTime(e.Question) {
		e.Expires = qabank.MidnightAfter(e.Made)
	}
	switch _, put, err := i.Bank.PutNew(ctx, e); {
	case fault.KindOf(err) == fault.Invalid:
		i.refuse(l.line, cmdline.Sentence(err))
	case err != nil:
		return err
	case put:
		i.out.Imported++
	default:
		i.out.Skipped++
	}
	return nil
}

// resolveChunks returns the chunks that an imported line names, by the hash of their text
// or by their public IDs in this space.
func (i *importRun) resolveChunks(named []percached.ChunkID) []percached.ChunkID {
	found := slices.Clone(named)
	alive, _ := i.Knowledge.Versions(i.space, named) // unreadable chunks are tried as public IDs
	for n, id := range named {
		if _, ok := alive[id]; !ok {
			found[n] = i.ids.ChunkOf(id)
		}
	}
	return found
}

func (b *Backend) export(ctx context.Context, x api.Export) (api.Nothing, error) {
	return api.Nothing{}, b.exportEntries(ctx, x.Space, x.Each)
}

func (b *Backend) importLines(ctx context.Context, i api.Import) (api.Imported, error) {
	return b.importEntries(ctx, i.Space, i.Lines)
}
