package reader

import (
	"context"
	"io"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
)

// Keys calls key with the key of every document that Stream would find under this name. It
// reads no more than that takes: of most formats the name and the first bytes. The error
// says why the rest of the file could not be read; mails and objects that cannot be read
// are passed over.
func (r *Reader) Keys(ctx context.Context, name string, rd io.Reader, key func(string)) error {
	var unread error
	f := &file{Reader: r, name: name, base: baseName(name), id: name, keysOnly: true}
	f.mail, f.mailLike = maildirName(name)
	f.emit = func(s *knowledgebank.Source) error {
		key(s.Key)
		return nil
	}
	f.failed = func(of string, err error) {
		if of == name {
			unread = err
		}
	}
	if err := f.read(ctx, untilDone(ctx, rd)); err != nil {
		unread = err
	}
	return fault.Wrap("reader.Keys", unread)
}

// keyOnly is a document of which only the key is asked for.
func keyOnly(key string) *knowledgebank.Source {
	return &knowledgebank.Source{Key: key, Blocks: []knowledgebank.Block{{}}}
}
