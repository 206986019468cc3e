package inbox

import (
	"bytes"
	"context"
	"io"
	"os"
)

// inMemory is what of a body that is to be parsed is kept in memory until it is here.
const inMemory = 64 << 10

// turnBytes of one body are parsed before others have their turn.
const turnBytes = 16 << 20

// unparsed is a body that is parsed while it is read. Who does not want to hold its
// parts while they come reads all that is sent, and has that parsed then.
type unparsed interface {
	// Sent is what the sender sends.
	Sent() io.Reader
	// Parse makes what is kept out of what was sent.
	Parse(sent io.Reader) io.Reader
	// Held is how many bytes of what was sent Parse holds at a time, at most.
	Held() int64
}

// parse keeps what a body is parsed to. While it comes, which may take its sender
// long, it lies on the disk; parsing it takes memory, for which it waits.
func (s *sending) parse(ctx context.Context, u unparsed, keep func([]byte) error) error {
	raw := &body{sending: s}
	defer raw.remove()
	if err := each(ctx, u.Sent(), raw.write); err != nil {
		return err
	}
	hold, err := s.memory.body(ctx, min(raw.size, u.Held()))
	if err != nil {
		return err
	}
	defer hold.Release()
	parsed := 0 // since others had their turn
	return each(ctx, u.Parse(raw.read()), func(b []byte) error {
		if parsed += len(b); parsed > turnBytes {
			parsed = 0
			if err := hold.giveWay(ctx); err != nil {
				return err
			}
		}
		return keep(b)
	})
}

// body is a body until it is parsed: in memory while it is small, else in a file
// that is a leftover for who opens the folder next.
type body struct {
	*sending
	size  int64
	first bytes.Buffer
	file  *os.File
	again *os.File // the same, for reading: it may be removed before, with its space
	kept  int64    // bytes that count as spooled
}

func (b *body) name() string { return b.id + bodyEnd + partEnd }

func (b *body) write(p []byte) (err error) {
	before := b.size
	if b.size += int64(len(p)); before <= small && b.size > small { // the rest need not be written in vain
		if err := b.memory.bodies.full(); err != nil {
			return err
		}
	}
	if b.file == nil && b.size <= inMemory {
		b.first.Write(p)
		return nil
	}
	if b.file == nil {
		if b.file, err = b.disk.create(b.name()); err == nil {
			b.again, err = os.Open(b.disk.path(b.name()))
		}
		if err != nil {
			return unavailable("inbox.write", err)
		}
		p = append(b.first.Bytes(), p...)
		b.first = bytes.Buffer{}
	}
	if err := b.put(b.file, p); err != nil {
		return err
	}
	b.kept += int64(len(p))
	return nil
}

// read gives the body from its start.
func (b *body) read() io.Reader {
	if b.file == nil {
		return &b.first
	}
	return b.again
}

// remove takes the body off the disk, and its bytes off those that are spooled.
func (b *body) remove() {
	if b.file == nil {
		return
	}
	for _, f := range []*os.File{b.file, b.again} {
		if f != nil {
			_ = f.Close() // it goes
		}
	}
	b.discard(b.name())
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes -= b.kept
	b.spooled -= b.kept
}
