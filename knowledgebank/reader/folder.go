package reader

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
)

// Path reads a file, or a folder with all below it. It calls emit for every document
// and failed for everything that it cannot read. It skips hidden files and percached's
// own data folders and does not follow links; of a Maildir it reads the mails. It
// returns an error only if the context ends, emit fails, or the path itself cannot be
// opened.
func (r *Reader) Path(ctx context.Context, path string, emit func(*knowledgebank.Source) error, failed func(name string, err error)) error {
	const op = "reader.Path"
	err := walk(path, func(e entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case e.err != nil:
			failed(e.path, fault.Wrap(op, e.err))
			return nil
		case e.folder:
			return nil
		}
		return r.open(ctx, e, emit, failed)
	})
	return fault.Wrap(op, err)
}

// open reads one file.
func (r *Reader) open(ctx context.Context, e entry, emit func(*knowledgebank.Source) error, failed func(name string, err error)) error {
	in, err := os.Open(e.path)
	if err != nil {
		failed(e.path, fault.Wrap("reader.Path", err))
		return nil
	}
	defer in.Close() //nolint:errcheck // nothing was written
	abs, err := filepath.Abs(e.path)
	if err != nil {
		return err
	}
	f := &file{Reader: r, name: e.path, base: filepath.Base(e.path), id: filepath.ToSlash(abs), path: abs, mail: e.mail, emit: emit, failed: failed}
	return f.read(ctx, untilDone(ctx, in))
}

// entry is a file to read, or the error that prevents it.
type entry struct {
	path   string
	info   fs.FileInfo
	mail   bool // it is in a Maildir
	folder bool // it is a folder, whose content follows
	err    error
}

// walk calls visit for every folder and file that is read, in the order of names.
func walk(root string, visit func(e entry) error) error {
	info, err := os.Stat(root)
	if err != nil {
		return openError(err)
	}
	switch {
	case info.Mode().IsRegular():
		f, err := os.Open(root)
		if err != nil {
			return openError(err)
		}
		if err := f.Close(); err != nil {
			return err
		}
		return visit(entry{path: root, info: info})
	case !info.IsDir():
		return fault.New(fault.Unsupported, "open", "neither a file nor a folder")
	}
	if _, err := os.ReadDir(root); err != nil {
		return openError(err)
	}
	return walkFolder(root, false, visit)
}

// openError gives an error of the operating system its kind.
func openError(err error) error {
	switch {
	case os.IsNotExist(err):
		return fault.New(fault.NotFound, "open", "%w", err)
	case os.IsPermission(err):
		return fault.New(fault.Invalid, "open", "%w", err)
	}
	return err
}

// walkFolder visits the content of a walkFolder. mails says that the walkFolder belongs to a
// Maildir.
func walkFolder(dir string, mails bool, visit func(e entry) error) error {
	if err := visit(entry{path: dir, folder: true}); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return visit(entry{path: dir, err: openError(err)})
	}
	if dataFolder(entries) { // percached's own data holds no documents
		return nil
	}
	box := maildir(entries)
	for _, d := range entries {
		name, path := d.Name(), filepath.Join(dir, d.Name())
		hidden := strings.HasPrefix(name, ".")
		var err error
		switch {
		case d.IsDir() && box && (name == "cur" || name == "new"):
			err = walkFolder(path, true, visit)
		case d.IsDir() && box && name == "tmp":
		case d.IsDir() && hidden && box:
			// The names of a Maildir's own folders begin with a dot.
			if inner, _ := os.ReadDir(path); maildir(inner) {
				err = walkFolder(path, false, visit)
			}
		case hidden, d.Type()&fs.ModeSymlink != 0, box && !d.IsDir():
		case d.IsDir():
			err = walkFolder(path, mails, visit)
		case !d.Type().IsRegular():
			err = visit(entry{path: path, err: fault.New(fault.Unsupported, "open", "not a file")})
		default:
			info, e := d.Info()
			if e != nil {
				err = visit(entry{path: path, err: openError(e)})
			} else {
				err = visit(entry{path: path, info: info, mail: mails})
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maildir reports whether a folder with these entries is a Maildir.
func maildir(entries []os.DirEntry) bool {
	has := map[string]bool{}
	for _, d := range entries {
		has[d.Name()] = d.IsDir()
	}
	return has["cur"] && (has["new"] || has["tmp"])
}

// dataFolder reports whether a folder with these entries is one of percached's own.
func dataFolder(entries []os.DirEntry) bool {
	has := map[string]bool{}
	for _, d := range entries {
		has[d.Name()] = d.IsDir()
	}
	meta := has["meta"]
	_, schema := has["schema"]
	_, lock := has["lock"]
	return meta && schema && lock
}

// untilDone fails reads after the context has ended.
func untilDone(ctx context.Context, rd io.Reader) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return rd.Read(p)
	})
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// Visitor hears of what Walk finds.
type Visitor struct {
	// Folder is called before the folder is read. It may be nil.
	Folder func(path string)
	File   func(path string, info fs.FileInfo)
	Failed func(path string, err error)
}

// Walk visits every file that Path would read, and every obstacle. It returns the error
// of the path itself.
func Walk(path string, v Visitor) error {
	if v.Folder == nil {
		v.Folder = func(string) {}
	}
	err := walk(path, func(e entry) error {
		switch {
		case e.err != nil:
			v.Failed(e.path, e.err)
		case e.folder:
			v.Folder(e.path)
		default:
			v.File(e.path, e.info)
		}
		return nil
	})
	return fault.Wrap("reader.Walk", err)
}

// maildirMail matches the name of a mail in a Maildir: the second of its arrival with
// more behind a dot, or flags behind ":2,".
var maildirMail = regexp.MustCompile(`^\d{9,}\.|[:;!]2,[A-Za-z]*$`)

// maildirName judges by a name alone whether a file is a mail in a Maildir. Other
// folders may have such names, too; for a file name without an ending the content
// decides (maybe).
func maildirName(name string) (mail, maybe bool) {
	name = strings.ReplaceAll(name, `\`, "/")
	switch path.Base(path.Dir(name)) {
	case "cur", "new":
		base := path.Base(name)
		return maildirMail.MatchString(base), !strings.Contains(base, ".")
	}
	return false, false
}
