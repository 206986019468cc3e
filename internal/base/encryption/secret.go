package encryption

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/prompt"
)

const (
	// credential is the name of the secret among systemd's credentials.
	credential = "percached-key"
	// maxSecret and minSecret are bytes of a secret.
	maxSecret = 64 << 10
	minSecret = 8
)

// Source is where the secret of a folder comes from.
type Source struct {
	File string // contains the secret; empty: systemd's credential, or the terminal
	// Terminal: do not take systemd's credential.
	Terminal bool
}

// Secret returns the secret. Where there is no file and no credential, it asks at the terminal.
func (s Source) Secret() ([]byte, error) {
	b, _, err := s.find("Passphrase of the data folder: ")
	return b, err
}

// NewSecret is Secret for a secret that is not in use yet. It refuses a short one, and asks twice.
func (s Source) NewSecret() ([]byte, error) {
	const op = "encryption.NewSecret"
	b, asked, err := s.find("New passphrase: ")
	if err != nil {
		return nil, err
	}
	if len(b) < minSecret {
		return nil, fault.New(fault.Invalid, op, "the passphrase has %d bytes; choose one of at least %d", len(b), minSecret)
	}
	if !asked {
		return b, nil
	}
	again, err := ask("New passphrase again: ")
	if err == nil && !bytes.Equal(b, again) {
		err = fault.New(fault.Invalid, op, "the two passphrases differ; try again")
	}
	return b, err
}

func (s Source) find(question string) (secret []byte, asked bool, err error) {
	file := s.File
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); file == "" && dir != "" && !s.Terminal {
		if at := filepath.Join(dir, credential); exists(at) {
			file = at
		}
	}
	if file != "" {
		secret, err = readSecret(file)
		return secret, false, err
	}
	secret, err = ask(question)
	if errors.Is(err, errNoTerminal) {
		return nil, false, fault.New(fault.Invalid, "encryption.find", "there is no key: name a file with the passphrase (--key-file, PERCACHED_KEY_FILE, or key-file in the configuration), pass the systemd credential %s, or run the command at a terminal", credential)
	}
	return secret, true, err
}

// readSecret reads a secret from a file. A line end behind it does not count.
func readSecret(file string) ([]byte, error) {
	const op = "encryption.readSecret"
	f, err := os.Open(file)
	if err != nil {
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = p.Err
		}
		return nil, fault.New(fault.Unavailable, op, "cannot read the key file %s: %w", file, err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	switch {
	case err != nil:
		return nil, fault.New(fault.Unavailable, op, "cannot read the key file %s: %w", file, err)
	case len(b) > maxSecret:
		return nil, fault.New(fault.Invalid, op, "the key file %s has more than %d bytes", file, maxSecret)
	}
	b = bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
	if len(b) == 0 {
		return nil, fault.New(fault.Invalid, op, "the key file %s is empty", file)
	}
	return b, nil
}

var errNoTerminal = errors.New("standard input is not a terminal")

// ask asks for a line without showing it.
func ask(question string) ([]byte, error) {
	if !prompt.Terminal(os.Stdin) {
		return nil, errNoTerminal
	}
	return prompt.Hidden(context.Background(), os.Stdin, os.Stderr, question)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
