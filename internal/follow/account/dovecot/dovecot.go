package dovecot

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The only user, who has this password.
const (
	User     = "ana@example.org"
	Password = "per \"ca\\ché"
)

// Server is a running server with the mails of User.
type Server struct {
	testing.TB
	TLS, StartTLS string // addresses
	// Certificate is the file with the server's certificate, for SSL_CERT_FILE.
	Certificate string
	maildir     string
	owner       account
}

// account is who runs the server: this user, or nobody if that is root.
type account struct{ uid, gid int }

// Start starts a server, which ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	path, err := exec.LookPath("dovecot")
	if err != nil {
		path = "/usr/sbin/dovecot"
	}
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("dovecot is not installed: apt-get install dovecot-imapd")
		}
		t.Skip("dovecot is not installed: apt-get install dovecot-imapd")
	}
	dir, err := os.MkdirTemp("", "dovecot") // sockets have short names
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) //nolint:errcheck // it is temporary
	s := &Server{TB: t, Certificate: filepath.Join(dir, "cert.pem"), maildir: filepath.Join(dir, "Maildir"), owner: account{os.Getuid(), os.Getgid()}}
	name := "root"
	if s.owner.uid == 0 {
		s.owner, name = nobody(t)
	} else if u, err := user.Current(); err == nil {
		name = u.Username
	}
	s.certify(dir)
	for _, sub := range []string{"cur", "new", "tmp"} {
		s.must(os.MkdirAll(filepath.Join(s.maildir, sub), 0o700))
	}
	imaps, imap := free(t), free(t)
	s.TLS, s.StartTLS = "127.0.0.1:"+imaps, "127.0.0.1:"+imap
	conf := filepath.Join(dir, "dovecot.conf")
	s.must(os.WriteFile(filepath.Join(dir, "users"), []byte(User+":{PLAIN}"+Password+"\n"), 0o600))
	group := strconv.Itoa(s.owner.gid)
	if g, err := user.LookupGroupId(group); err == nil {
		group = g.Name
	}
	s.must(os.WriteFile(conf, []byte(strings.NewReplacer(
		"DIR", dir, "NAME", name, "GROUP", group, "UID", strconv.Itoa(s.owner.uid), "GID", strconv.Itoa(s.owner.gid), "IMAPS", imaps, "IMAP", imap,
	).Replace(configuration)), 0o600))
	s.must(filepath.Walk(dir, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, s.owner.uid, s.owner.gid)
	}))
	s.run(path, conf, dir)
	return s
}

func nobody(t testing.TB) (account, string) {
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Skip(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return account{uid, gid}, u.Username
}

// run starts the process and waits until it answers.
func (s *Server) run(path, conf, dir string) {
	s.Helper()
	cmd := exec.Command(path, "-F", "-c", conf)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	s.lower(cmd)
	s.must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	s.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt) //nolint:errcheck // it has ended
		<-ended
	})
	for deadline := time.Now().Add(30 * time.Second); ; {
		conn, err := net.Dial("tcp", s.TLS)
		if err == nil {
			conn.Close() //nolint:errcheck // it was only tried
			return
		}
		select {
		case err := <-ended:
			ended <- err
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			s.Fatalf("dovecot ended: %v\n%s%s", err, said.String(), log)
		case <-time.After(10 * time.Millisecond):
			if time.Now().After(deadline) {
				s.Fatalf("dovecot does not answer: %v", err)
			}
		}
	}
}

const configuration = `
protocols = imap
base_dir = DIR/run
state_dir = DIR/state
log_path = DIR/log
listen = 127.0.0.1
default_internal_user = NAME
default_internal_group = GROUP
default_login_user = NAME
default_process_limit = 20
ssl = required
ssl_cert = <DIR/cert.pem
ssl_key = <DIR/key.pem
auth_mechanisms = plain login
mail_location = maildir:DIR/Maildir
mail_uid = UID
mail_gid = GID
first_valid_uid = 1
first_valid_gid = 1
maildir_very_dirty_syncs = no
mailbox_list_index = no
mailbox_idle_check_interval = 1 secs
passdb {
  driver = passwd-file
  args = scheme=PLAIN DIR/users
}
userdb {
  driver = static
  args = uid=UID gid=GID home=DIR
}
service anvil {
  chroot =
}
service imap-login {
  chroot =
  inet_listener imap {
    port = IMAP
  }
  inet_listener imaps {
    port = IMAPS
    ssl = yes
  }
}
service stats {
  chroot =
}
`

// free returns a free port.
func free(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // dovecot opens it
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// certify makes a certificate for 127.0.0.1.
func (s *Server) certify(dir string) {
	s.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	s.must(err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "dovecot for a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	b, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	s.must(err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	s.must(err)
	s.must(os.WriteFile(s.Certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b}), 0o600))
	s.must(os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
}

func (s *Server) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// folder is where the mails of a folder are.
func (s *Server) folder(name string) string {
	if name == "INBOX" {
		return s.maildir
	}
	return filepath.Join(s.maildir, "."+name)
}

// Make makes a folder.
func (s *Server) Make(name string) {
	s.Helper()
	for _, sub := range []string{"", "cur", "new", "tmp"} {
		path := filepath.Join(s.folder(name), sub)
		s.must(os.MkdirAll(path, 0o700))
		s.must(os.Lchown(path, s.owner.uid, s.owner.gid))
	}
}

// Put puts a mail into a folder. The name orders mails.
func (s *Server) Put(folder, name, text string) {
	s.Helper()
	path := s.mail(folder, name)
	part := filepath.Join(s.folder(folder), "tmp", name)
	s.must(os.WriteFile(part, []byte(text), 0o600))
	s.must(os.Lchown(part, s.owner.uid, s.owner.gid))
	s.must(os.Rename(part, path))
}

func (s *Server) mail(folder, name string) string {
	return filepath.Join(s.folder(folder), "cur", fmt.Sprintf("1700000000.%s.host:2,", name))
}

// Remove removes a mail from a folder.
func (s *Server) Remove(folder, name string) {
	s.Helper()
	s.must(os.Remove(s.mail(folder, name)))
}

// Move moves a mail to another folder.
func (s *Server) Move(from, to, name string) {
	s.Helper()
	s.must(os.Rename(s.mail(from, name), s.mail(to, name)))
}

// Renumber gives a folder another UIDVALIDITY.
func (s *Server) Renumber(folder string) {
	s.Helper()
	for _, pattern := range []string{"dovecot-uidlist*", "dovecot.index*"} {
		found, err := filepath.Glob(filepath.Join(s.folder(folder), pattern))
		s.must(err)
		for _, path := range found {
			s.must(os.RemoveAll(path))
		}
	}
}

// Files lists the files of all mails, whose names have their flags.
func (s *Server) Files() (all []string) {
	s.Helper()
	s.must(filepath.Walk(s.maildir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && (filepath.Base(filepath.Dir(path)) == "cur" || filepath.Base(filepath.Dir(path)) == "new") {
			all = append(all, strings.TrimPrefix(path, s.maildir))
		}
		return err
	}))
	return all
}
