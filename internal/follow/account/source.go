package account

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
)

// Security is how a connection is encrypted.
type Security string

// The kinds of encryption.
const (
	TLS      Security = "tls"      // from the first byte
	StartTLS Security = "starttls" // after the server's greeting
	Plain    Security = "plain"    // not at all; only to this machine
)

// Source is a mail account that a space follows.
type Source struct {
	Name     string   `json:"name"`
	Address  string   `json:"address"` // HOST:PORT
	Security Security `json:"security"`
	User     string   `json:"user"`
	Space    string   `json:"space"`
	Folders  []string `json:"folders"`
	// PasswordFile is the file with the password; empty: the store has it.
	PasswordFile string `json:"password_file,omitempty"`
}

// scheme begins the path of each document that came from an account.
const scheme = "imap:"

// Path is the path of all documents that come from a source, or of a folder of it.
func (s Source) Path(folder ...string) string {
	return strings.Join(append([]string{scheme + s.Name}, folder...), "/")
}

// fromMail says that a document came from an account, whichever it was last found in, and
// not from a file.
func fromMail(path string) bool { return strings.HasPrefix(path, scheme) }

// sourceName matches names that are also names of files everywhere.
var sourceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}$`)

// Validate completes a source, or says what is wrong with it.
func (s *Source) Validate() error {
	const op = "account.Validate"
	host, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		host = strings.Trim(s.Address, "[]")
		port = map[Security]string{TLS: "993", StartTLS: "143", Plain: "143"}[s.Security]
	}
	if n, bad := strconv.ParseUint(port, 10, 16); host == "" || bad != nil || n == 0 || strings.ContainsAny(host, "/@ ") {
		return fault.New(fault.Invalid, op, "%q is not the name of a mail server; give HOST or HOST:PORT", s.Address)
	}
	s.Address = net.JoinHostPort(host, port)
	if ip := net.ParseIP(host); s.Security == Plain && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fault.New(fault.Invalid, op, "an unencrypted connection would show the password and all mails on the network to %s; leave out --plain, or use --starttls", host)
	}
	if s.User == "" {
		return fault.New(fault.Invalid, op, "the user name is missing; add --user NAME")
	}
	if s.Name == "" {
		if s.Name = s.User; !strings.Contains(s.User, "@") {
			s.Name += "@" + host
		}
	}
	if !sourceName.MatchString(s.Name) {
		return fault.New(fault.Invalid, op, "%q cannot be the name of a source; add --name with letters, digits and .-_@+", s.Name)
	}
	for i, f := range s.Folders {
		switch {
		case strings.TrimSpace(f) == "":
			return fault.New(fault.Invalid, op, "the name of a folder is empty")
		case strings.EqualFold(f, "INBOX"):
			s.Folders[i] = "INBOX"
		}
	}
	slices.Sort(s.Folders[min(1, len(s.Folders)):]) // the first is the one to watch
	s.Folders = slices.Compact(s.Folders)
	return nil
}

// Store holds sources.
type Store struct{ files *home.SyncFiles }

// OpenStore opens the sources of a data folder.
func OpenStore(files *home.SyncFiles) *Store { return &Store{files} }

func (s *Store) path(name, ending string) string {
	return filepath.Join(s.files.Sources(), s.files.FileName(name)+ending)
}

const (
	recordEnding   = ".json"
	passwordEnding = ".password"
)

// List returns all sources in the order of their names.
func (s *Store) List() (all []Source, err error) {
	names, err := fs.Glob(os.DirFS(s.files.Sources()), "*"+recordEnding)
	for _, name := range names {
		source, err := s.read(filepath.Join(s.files.Sources(), name))
		if err != nil {
			return nil, err
		}
		all = append(all, source)
	}
	slices.SortFunc(all, func(a, b Source) int { return cmp.Compare(a.Name, b.Name) })
	return all, fault.Wrap("account.List", err)
}

// Get returns a source.
func (s *Store) Get(name string) (source Source, err error) {
	const op = "account.Get"
	if sourceName.MatchString(name) {
		source, err = s.read(s.path(name, recordEnding))
	}
	if source.Name == "" && (err == nil || errors.Is(err, fs.ErrNotExist)) {
		return source, fault.New(fault.NotFound, op, "there is no source %q; see percached sources list", name)
	}
	return source, fault.Wrap(op, err)
}

// read reads the record of a source.
func (s *Store) read(path string) (source Source, err error) {
	const op = "account.read"
	b, err := s.files.Read(path)
	if err != nil && !errors.Is(err, encryption.ErrDamaged) {
		return source, fault.New(fault.Unavailable, op, "%w", err)
	}
	if err != nil || json.Unmarshal(b, &source) != nil || source.Validate() != nil || s.path(source.Name, recordEnding) != path {
		return Source{}, fault.New(fault.Internal, op, "the file %s is damaged; remove it and add the source again", path)
	}
	return source, nil
}

// Put stores a source, and its password unless it names a file with it. It replaces one of
// the same name, account and space.
func (s *Store) Put(source Source, password string) error {
	const op = "account.Put"
	was, err := s.Get(source.Name)
	switch {
	case fault.KindOf(err) == fault.NotFound:
	case err != nil:
		return err
	case was.Address != source.Address || was.User != source.User || was.Space != source.Space:
		return fault.New(fault.Conflict, op, "there is a source %q already: %s at %s in the space %s; add --name to give this one another name, or remove that one", was.Name, was.User, was.Address, was.Space)
	}
	b, err := json.Marshal(source)
	if err == nil {
		err = os.MkdirAll(s.files.Sources(), 0o700)
	}
	if err == nil && source.PasswordFile == "" {
		if s.encrypted(source) {
			password = source.Name + "\n" + password
		}
		err = s.files.Write(s.path(source.Name, passwordEnding), []byte(password))
	}
	if err == nil {
		err = s.files.Write(s.path(source.Name, recordEnding), b)
	}
	if err == nil && source.PasswordFile != "" {
		err = removeFile(s.path(source.Name, passwordEnding))
	}
	if err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	return nil
}

// Remove forgets a source, its password and what is known of its folders.
func (s *Store) Remove(source Source) error {
	err := removeState(s.files, source)
	for _, ending := range []string{passwordEnding, recordEnding} {
		path := s.path(source.Name, ending)
		err = errors.Join(err, removeFile(path+durable.Unfinished), removeFile(path))
	}
	if err != nil {
		return fault.New(fault.Unavailable, "account.Remove", "%w", err)
	}
	return nil
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Password returns the password of a source.
func (s *Store) Password(source Source) (string, error) {
	if source.PasswordFile != "" {
		return ReadPassword(source.PasswordFile)
	}
	path := s.path(source.Name, passwordEnding)
	b, err := s.files.Read(path)
	if err == nil && s.encrypted(source) {
		name, password, _ := bytes.Cut(b, []byte("\n"))
		if b = password; string(name) != source.Name {
			return "", fault.New(fault.Internal, "account.Password", "the file %s is not the password of %s; remove the source and add it again", path, source.Name)
		}
	}
	return firstLine(path, b, err)
}

// encrypted says whether files of a source are encrypted. Then a password has its name before it:
// whoever can only write to the disk could exchange the files of two sources.
func (s *Store) encrypted(source Source) bool { return s.files.FileName(source.Name) != source.Name }

// ReadPassword reads the first line of a file.
func ReadPassword(path string) (string, error) {
	b, err := os.ReadFile(path)
	return firstLine(path, b, err)
}

func firstLine(path string, b []byte, err error) (string, error) {
	const op, most = "account.ReadPassword", 4096
	if err != nil {
		return "", fault.New(fault.Unavailable, op, "cannot read the password: %w", err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" || len(line) > most {
		return "", fault.New(fault.Invalid, op, "the first line of %s is not a password", path)
	}
	return line, nil
}
