package follow

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank/reader"
)

// scanned is what the folders hold now.
type scanned struct {
	order   []string // the files, as they were found
	files   map[string]fs.FileInfo
	blocked []string // files and folders whose documents stay
	bare    []string // roots without a file, or missing
	bytes   int64
}

// scan walks the roots.
func (r *run) scan() {
	r.found.files = map[string]fs.FileInfo{}
	for _, root := range r.Roots {
		n := len(r.found.order)
		known := false
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			r.Observer.folder(filepath.Dir(root))
		}
		err := reader.Walk(root, reader.Visitor{
			Folder: r.Observer.folder,
			File: func(path string, info fs.FileInfo) {
				if known = true; r.found.files[path] == nil {
					r.found.order = append(r.found.order, path)
					r.found.files[path] = info
					r.found.bytes += info.Size()
				}
			},
			Failed: r.block,
		})
		missing := fault.KindOf(err) == fault.NotFound
		switch {
		case missing && !r.Empty:
			r.block(root, errMissing)
		case err != nil && !missing:
			r.block(root, err)
		case len(r.found.order) == n && !known:
			r.found.bare = append(r.found.bare, root)
		}
	}
}

var errMissing = errors.New("it does not exist, so its documents stay; if it is gone for good, add --empty")

// block keeps the documents of a file or folder, and reports why.
func (r *run) block(path string, err error) {
	r.found.blocked = append(r.found.blocked, path)
	r.report.Blocked = append(r.report.Blocked, Obstacle{path, err})
}

// isBlocked says that the documents of a path stay.
func (r *run) isBlocked(path string) bool {
	return slices.ContainsFunc(r.found.blocked, func(b string) bool { return within(path, b) })
}

// within says that a path is a folder, or below it.
func within(path, folder string) bool {
	rest, ok := strings.CutPrefix(path, folder)
	return ok && (rest == "" || rest[0] == filepath.Separator || strings.HasSuffix(folder, string(filepath.Separator)))
}

func (r *run) rootOf(path string) (string, bool) {
	i := slices.IndexFunc(r.Roots, func(root string) bool { return within(path, root) })
	if i < 0 {
		return "", false
	}
	return r.Roots[i], true
}

// exists says that a path is a file now.
func exists(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// mountedIn says that a file is on another file system than its root.
func mountedIn(root string, info fs.FileInfo) bool {
	top, err := os.Stat(root)
	if err != nil {
		return false
	}
	a, known := device(top)
	b, both := device(info)
	return known && both && a != b
}

// unmounted says that a file vanished with the file system that it was on: the folder where
// it was is now on the root's.
func unmounted(root, path string) bool {
	for dir := filepath.Dir(path); within(dir, root); dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err == nil {
			return !mountedIn(root, info)
		}
	}
	return true
}

// content is what a file holds.
type content struct {
	record
	// grown says that it begins with what it was before, and a mail follows.
	grown bool
	// unread says why it holds no document.
	unread error
}

// look reads a file. A mailbox that lost mails may be in the course of being written, so
// look waits until it has been left alone.
func (r *run) look(ctx context.Context, path string, was *record) (*content, error) {
	const attempts = 5
	for n := 1; ; n++ {
		c, info, err := r.lookOnce(ctx, path, was)
		if err != nil {
			return nil, err
		}
		quiet := r.Now().Sub(info.ModTime())
		after, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		still := after.Size() == info.Size() && after.ModTime().Equal(info.ModTime())
		if quiet < r.Settle {
			c.Time = 0 // it may change again without another time
		}
		if was == nil || len(c.Lost) == len(was.Lost) || still && quiet >= r.Settle {
			return c, nil
		}
		if n == attempts {
			return nil, fault.New(fault.Unavailable, "follow.look", "the file is being written")
		}
		select {
		case <-time.After(r.Settle):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (r *run) lookOnce(ctx context.Context, path string, was *record) (*content, fs.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	c := &content{record: record{Size: info.Size(), Time: info.ModTime().UnixNano()}}
	root, _ := r.rootOf(path)
	c.Mounted = mountedIn(root, info)
	sum := sha256.New()
	all := &hashed{in: f, sum: sum}
	if was != nil && was.Size > 0 && was.Size < info.Size() {
		all.mark = was.Size
	}
	seen := map[percached.DocumentID]bool{}
	if info.Size() > 0 { // an empty file holds nothing, whatever its name says
		c.unread = r.keys.Keys(ctx, path, all, func(key string) {
			if id := percached.NewDocumentID(key); !seen[id] {
				seen[id] = true
				c.Documents = append(c.Documents, id)
			}
		})
	}
	if _, err := io.Copy(io.Discard, all); err != nil || all.err != nil {
		return nil, nil, errors.Join(err, all.err)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if !all.words { // it holds nothing, as an empty file; the daemon would refuse it
		clear(seen)
		c.Documents, c.unread = nil, nil
	}
	c.Sum = hex.EncodeToString(sum.Sum(nil))
	c.Unread = len(c.Documents) == 0
	if was != nil {
		c.compare(was, seen)
		// More documents, and none lost: it is a mailbox.
		c.grown = all.prefix == was.Sum && all.mail() && len(c.Lost) == 0 && len(c.Documents) > len(was.Documents)
	}
	return c, info, nil
}

// compare finds what the file lost. If the rest of it could not be read, it lost nothing.
func (c *content) compare(was *record, seen map[percached.DocumentID]bool) {
	for _, id := range slices.Concat(was.Documents, was.Lost) {
		switch {
		case seen[id]:
		case c.unread != nil:
			c.Documents = append(c.Documents, id)
		default:
			c.Lost = append(c.Lost, id)
		}
	}
}

// hashed computes the hash of what is read: of all, and of the part before a mark.
type hashed struct {
	in     io.Reader
	sum    hash.Hash
	mark   int64
	n      int64
	prefix string // the hash of the part before the mark
	last   []byte // the last bytes before the mark
	next   []byte // the first bytes behind it
	words  bool   // something but white space was read
	err    error
}

func (h *hashed) Read(p []byte) (int, error) {
	if h.n < h.mark && int64(len(p)) > h.mark-h.n {
		p = p[:h.mark-h.n]
	}
	n, err := h.in.Read(p)
	h.sum.Write(p[:n])
	h.words = h.words || len(bytes.TrimSpace(p[:n])) > 0
	if h.n < h.mark {
		h.last = append(h.last, p[max(0, n-4):n]...)
		h.last = h.last[max(0, len(h.last)-4):]
	} else if h.mark > 0 && len(h.next) < len(mailStart) {
		h.next = append(h.next, p[:min(n, len(mailStart)-len(h.next))]...)
	}
	if h.n += int64(n); h.n == h.mark && h.mark > 0 && h.prefix == "" {
		h.prefix = hex.EncodeToString(h.sum.Sum(nil))
	}
	if err != nil && err != io.EOF {
		h.err = err
	}
	return n, err
}

const mailStart = "From "

// mail says that a mail of a mailbox begins behind the mark.
func (h *hashed) mail() bool {
	blank := bytes.HasSuffix(h.last, []byte("\n\n")) || bytes.HasSuffix(h.last, []byte("\r\n\r\n"))
	return blank && string(h.next) == mailStart
}
