package link

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/token"
)

// AddressFile is the file in a data folder that says where its daemon listens. With TLS
// the second line is the SHA-256 of its certificate.
const AddressFile = "address"

// Running returns the link to the daemon that serves a data folder, or nil if no daemon does.
func Running(data string) (*Link, error) {
	if !home.Exists(filepath.Join(data, "lock")) {
		return nil, nil
	}
	if err := token.Verify(data); err != nil {
		return nil, err
	}
	if home.Encrypted(data) { // a command that needs the folder asks for its key
		if home.Locked(data) {
			return Daemon(data)
		}
		return nil, nil
	}
	h, err := home.Open(data, encryption.Source{})
	if _, busy := errors.AsType[*home.InUse](err); busy {
		return Daemon(data)
	}
	if err == nil {
		err = h.Close()
	}
	return nil, err
}

// Daemon is the link to the daemon that uses a data folder, or nil if no daemon does. The
// address in the folder can be trusted only while the folder is in use.
func Daemon(data string) (*Link, error) {
	b, err := os.ReadFile(filepath.Join(data, AddressFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Unavailable, "percached: address", "%w", err)
	}
	address, certHash, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	tokens, err := token.Open(data)
	if err != nil {
		return nil, err
	}
	secret, _, err := tokens.Main()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DisableCompression: true} // without a proxy
	if certHash != "" {
		transport.TLSClientConfig = trustOnly(certHash)
	}
	l, err := New(address, secret, transport)
	if err != nil {
		return nil, err
	}
	l.Daemon, l.Data = address, data
	l.Close = func() error { transport.CloseIdleConnections(); return nil }
	return l, nil
}

// CertificateHash names a certificate in the address file.
func CertificateHash(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// trustOnly trusts only the certificate whose hash the daemon wrote to its folder.
func trustOnly(certHash string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, InsecureSkipVerify: true,
		VerifyPeerCertificate: func(certificates [][]byte, _ [][]*x509.Certificate) error {
			if len(certificates) == 0 || !bytes.Equal([]byte(CertificateHash(certificates[0])), []byte(certHash)) {
				return fault.New(fault.Unavailable, "percached: address", "the server's certificate is not that of the daemon of this data folder")
			}
			return nil
		},
	}
}
