package reader

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
)

// mbox reads a mailbox mail by mail. It reports a mail that is too large or unreadable,
// and continues with the next.
func (f *file) mbox(ctx context.Context, in *bufio.Reader) error {
	if f.marked {
		if _, err := in.Discard(len(byteMark)); err != nil {
			return damaged(err)
		}
	}
	box := &mailbox{in: in, limit: f.o.MaxBytes, grow: func(n int) error { return f.grow(ctx, n) }}
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return stop{err}
		}
		mail, err := box.next()
		if err == io.EOF {
			return nil
		}
		name := fmt.Sprintf("%s: mail %d", f.name, n)
		switch {
		case errors.Is(err, errLarge):
			f.releaseRoom()
			if err := f.fail(name, f.tooLarge()); err != nil {
				return err
			}
			continue
		case err != nil:
			// The mails before the damage are read; this one ends in it.
			return fault.Wrap(fmt.Sprintf("mail %d and all behind it", n), damaged(err))
		}
		if f.room != nil {
			f.room.Shrink(int64(len(mail.data)))
		}
		if err := f.document(ctx, name, func() (*knowledgebank.Source, error) { return f.parseMail(ctx, mail.data, mail.separator) }); err != nil {
			return err
		}
		f.releaseRoom()
	}
}

var (
	errLarge = errors.New("the mail is too large")
	// The end of a separator: a time, and a year after it or, as some programs write,
	// before it.
	separatorDate = regexp.MustCompile(`\d{1,2}:\d\d(:\d\d)?\b.*\b(19|20)\d\d\b|\b(19|20)\d\d\b.*\d{1,2}:\d\d`)
	separatorFull = regexp.MustCompile(`^From \S.*(Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +(\w{3} +\d{1,2}|\d{1,2} +\w{3}),? +(\d{4} +)?\d{1,2}:\d\d(:\d\d)?.*\d`)
)

// separates reports whether a line that begins with "From " separates two mails: it
// looks entirely like a separator, or partly and a header follows.
func separates(line, next []byte) bool {
	if !bytes.HasPrefix(line, []byte("From ")) {
		return false
	}
	if separatorFull.Match(line) {
		return true
	}
	next, _, _ = bytes.Cut(next, []byte("\n"))
	name, _, header := headerLine(string(bytes.TrimRight(next, "\r")))
	if !header && !bytes.HasPrefix(next, []byte(">From ")) {
		return false
	}
	return separatorDate.Match(line) || knownHeader(name)
}

type boxed struct {
	separator string
	data      []byte
}

// mailbox splits an mbox into mails and holds one at a time.
type mailbox struct {
	in        *bufio.Reader
	limit     int64
	grow      func(n int) error // asks for room for so many bytes of a mail
	separator []byte            // of the next mail
	begun     bool
}

// next returns the next mail without its separator and with "From " lines unquoted. It
// returns errLarge for a mail that is too large, io.EOF after the last.
func (b *mailbox) next() (boxed, error) {
	if !b.begun {
		b.begun = true
		if err := b.first(); err != nil {
			return boxed{}, err
		}
	} else if b.separator == nil {
		return boxed{}, io.EOF
	}
	out := boxed{separator: string(bytes.TrimRight(b.separator, "\r\n"))}
	b.separator = nil
	var data []byte
	blank, large := true, false // two separators in a row enclose an empty mail
	for {
		l, err := b.in.ReadSlice('\n')
		start := true // l is the start of a line
		for {
			if start && blank && bytes.HasPrefix(l, []byte("From ")) {
				l = bytes.Clone(l) // looking ahead may move the buffer
				next, _ := b.in.Peek(200)
				if separates(bytes.TrimRight(l, "\r\n"), next) {
					b.separator = l
					return finish(out, data, large)
				}
			}
			if start {
				blank = len(bytes.TrimRight(l, "\r\n")) == 0
				if quoted := bytes.TrimLeft(l, ">"); len(quoted) < len(l) && bytes.HasPrefix(quoted, []byte("From ")) {
					l = l[1:]
				}
			}
			if int64(len(data)+len(l)) > b.limit+2 {
				large, data = true, nil
			}
			if !large {
				if err := b.grow(len(data) + len(l)); err != nil {
					return boxed{}, err
				}
				data = append(data, l...)
			}
			if err != bufio.ErrBufferFull {
				break
			}
			l, err = b.in.ReadSlice('\n')
			start = false
		}
		if err == io.EOF {
			if len(data) == 0 && !large && out.separator == "" {
				return boxed{}, io.EOF
			}
			return finish(out, data, large)
		}
		if err != nil {
			return boxed{}, err
		}
	}
}

// first reads the first separator. If there is none, the file begins with a mail.
func (b *mailbox) first() error {
	for {
		head, err := b.in.Peek(5)
		if len(head) > 0 && (head[0] == '\n' || head[0] == '\r') {
			if _, err := b.in.Discard(1); err != nil {
				return err
			}
			continue
		}
		if string(head) != "From " {
			if err == io.EOF && len(head) > 0 {
				err = nil
			}
			return err
		}
		for full := true; full; {
			l, err := b.in.ReadSlice('\n')
			if len(b.separator) < 1000 {
				b.separator = append(b.separator, l...)
			}
			if full = err == bufio.ErrBufferFull; err != nil && err != io.EOF && !full {
				return err
			}
		}
		return nil
	}
}

// finish removes the blank line that belongs to the mailbox.
func finish(out boxed, data []byte, large bool) (boxed, error) {
	if large {
		return boxed{}, errLarge
	}
	if d, ok := bytes.CutSuffix(data, []byte("\n\n")); ok {
		data = append(d, '\n')
	} else if d, ok := bytes.CutSuffix(data, []byte("\r\n\r\n")); ok {
		data = append(d, '\r', '\n')
	}
	out.data = data
	return out, nil
}
