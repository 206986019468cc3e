package account

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
)

const all = "four one three two"

// After a Sync the space holds what the account holds, and only what is new was fetched.
func TestInStep(t *testing.T) {
	w := newWorld(t)
	big := mailText("big") + strings.Repeat("A line about herons and their nests.\n", 40_000)
	for _, step := range []struct {
		name    string
		change  func()
		holds   string
		sent    int
		blocked int
		changes []string
	}{
		{"first", func() {}, all, 4, 0, []string{"added INBOX/1.eml", "added INBOX/2.eml", "added INBOX/3.eml", "added Archive/1.eml"}},
		{"nothing", func() {}, all, 0, 0, nil},
		{"new", func() { w.Put("INBOX", "xfive", mailText("xfive")) }, all + " xfive", 1, 0, []string{"added INBOX/4.eml"}},
		{"a large one", func() { w.Put("INBOX", "ybig", big) }, "big " + all + " xfive", 1, 0, []string{"added INBOX/5.eml"}},
		{"removed", func() { w.Remove("INBOX", "xfive"); w.Remove("INBOX", "ybig") }, all, 0, 0, []string{"removed INBOX/4.eml", "removed INBOX/5.eml"}},
		{"moved", func() { w.Move("INBOX", "Archive", "two") }, all, 0, 0, []string{"moved Archive/2.eml"}},
		{"in two folders", func() { w.Put("Archive", "one", mailText("one")) }, all, 0, 0, nil},
		{"left one of them", func() { w.Remove("INBOX", "one") }, all, 0, 0, nil},
		{"left both", func() { w.Remove("Archive", "one") }, "four three two", 0, 0, []string{"removed Archive/3.eml"}},
		{"renumbered", func() { w.Renumber("Archive"); w.Renumber("INBOX") }, "four three two", 0, 0, nil},
		{"renumbered, with a removed and a new one", func() {
			w.Renumber("Archive")
			w.Remove("Archive", "four")
			w.Put("Archive", "six", mailText("six"))
		}, "six three two", 1, 0, []string{"added Archive/1.eml", "removed Archive/1.eml"}},
		{"without a Message-ID", func() { w.Put("INBOX", "zz", "From: Ana <ana@example.com>\nSubject: x\n\nNo name here.\n") }, "six three two mail:sha256", 1, 0, []string{"added INBOX/2.eml"}},
		{"renumbered without a Message-ID", func() { w.Renumber("INBOX") }, "six three two mail:sha256", 1, 0, []string{"added INBOX/2.eml"}},
		{"empty", func() { w.Remove("INBOX", "zz"); w.Remove("INBOX", "three") }, "six three two mail:sha256", 0, 1, nil},
		{"empty for good", func() { w.empty = true }, "six two", 0, 0, []string{"removed INBOX/1.eml", "removed INBOX/2.eml"}},
		{"deleted by the user", func() {
			w.empty = false
			w.unwanted["mail:<two@example.com>"] = true
			delete(w.paths, "mail:<two@example.com>")
		}, "six", 1, 0, []string{"added Archive/2.eml"}},
		{"stays out", func() {}, "six", 0, 0, nil},
		{"without a state", func() { w.ok(os.RemoveAll(filepath.Join(w.data, "sync"))) }, "six", 1, 0, []string{"added Archive/2.eml"}},
	} {
		step.change()
		files := w.Files()
		r, err := w.sync()
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		holds := strings.Join(strings.Fields(hashes(w.holds())), " ")
		if holds != step.holds || len(w.sent) != step.sent || len(r.Blocked) != step.blocked {
			t.Errorf("%s: %q, want %q; sent %v, blocked %v", step.name, holds, step.holds, w.sent, r.Blocked)
		}
		if diff := cmp.Diff(step.changes, w.changes); diff != "" {
			t.Errorf("%s: %s", step.name, diff)
		}
		if diff := cmp.Diff(files, w.Files()); diff != "" {
			t.Errorf("%s changed the account: %s", step.name, diff)
		}
	}
}

// hashes shortens keys that are hashes.
func hashes(s string) string {
	words := strings.Fields(s)
	for i, word := range words {
		if strings.HasPrefix(word, "mail:sha256-") && len(word) == len("mail:sha256-")+2*sha256.Size {
			words[i] = "mail:sha256"
		}
	}
	return strings.Join(words, " ")
}

// What cannot be reached or opened keeps its documents, and the error says what to do.
func TestObstacles(t *testing.T) {
	w := newWorld(t)
	w.must()
	good := w.source
	for _, tc := range []struct {
		name   string
		change func()
		kind   fault.Kind
		want   string
	}{
		{"wrong password", func() { w.password = "wrong" }, fault.Invalid, "refused the user name or the password"},
		{"wrong certificate", func() { t.Setenv("SSL_CERT_FILE", ""); os.Unsetenv("SSL_CERT_FILE") }, fault.Invalid, "SSL_CERT_FILE"},
		{"another host name", func() { w.source.Address = strings.Replace(good.Address, "127.0.0.1", "localhost", 1) }, fault.Invalid, "is not trusted"},
		{"nobody there", func() { w.source.Address = "127.0.0.1:1" }, fault.Unavailable, "cannot connect to 127.0.0.1:1"},
		{"TLS where STARTTLS is due", func() { w.source.Address = w.StartTLS }, fault.Unavailable, "lost the connection"},
		{"STARTTLS", func() { w.source.Address, w.source.Security = w.StartTLS, StartTLS }, 0, ""},
	} {
		w.source, w.password = good, "per \"ca\\ché"
		t.Setenv("SSL_CERT_FILE", w.Certificate)
		tc.change()
		_, err := w.sync()
		if fault.KindOf(err) != tc.kind || err != nil && !strings.Contains(err.Error(), tc.want) || w.holds() != all {
			t.Errorf("%s: %v (%v), holds %s", tc.name, err, fault.KindOf(err), w.holds())
		}
		if err != nil && strings.Contains(err.Error(), w.password) {
			t.Errorf("%s: the error has the password", tc.name)
		}
	}
	// A folder that is gone keeps its documents, and those of other folders.
	w.source = good
	t.Setenv("SSL_CERT_FILE", w.Certificate)
	w.Remove("INBOX", "one")
	w.source.Folders = []string{"INBOX", "Archive", "Gone"}
	if r := w.must(); len(r.Blocked) != 1 || w.holds() != all {
		t.Errorf("%+v, holds %s", r.Blocked, w.holds())
	}
	w.source.Folders = good.Folders
	if w.must(); w.holds() != "four three two" {
		t.Errorf("holds %s", w.holds())
	}
	// An unknown folder is refused with the names of those that exist.
	a, err := Dial(t.Context(), w.source, w.password)
	w.ok(err)
	defer a.Close()
	if _, err := a.Count("Nowhere"); fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), "Archive, INBOX") {
		t.Error(err)
	}
	if n, err := a.Count("INBOX"); n != 2 || err != nil {
		t.Error(n, err)
	}
}

// A connection that is cut loses nothing, wherever that happens; what came before stays.
func TestCut(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"v", "w", "x", "y"} {
		w.Put("INBOX", name, mailText(name)+strings.Repeat("A line about herons.\n", 2000))
	}
	const whole = all + " v w x y"
	_, port, _ := net.SplitHostPort(w.source.Address)
	for limit := 1000; ; limit += 20_000 {
		w.ok(os.RemoveAll(filepath.Join(w.data, "sync")))
		w.paths = map[string]string{}
		cutter := newCutter(t, "127.0.0.1:"+port, limit)
		good := w.source.Address
		w.source.Address = cutter.address
		_, err := w.sync()
		w.source.Address = good
		cutter.close()
		if err == nil {
			if limit < 60_000 {
				t.Errorf("nothing was cut at %d", limit)
			}
			break
		}
		if fault.KindOf(err) != fault.Unavailable {
			t.Errorf("cut at %d: %v", limit, err)
		}
		before := len(w.paths)
		if w.must(); w.holds() != whole || len(w.sent) != 8-before {
			t.Errorf("cut at %d: holds %s, sent %v after %d", limit, w.holds(), w.sent, before)
		}
	}
	if w.holds() != whole {
		t.Errorf("holds %s", w.holds())
	}
}

// cutter passes on connections to a server, and cuts them after so many bytes.
type cutter struct {
	address string
	close   func()
}

func newCutter(t *testing.T, to string, limit int) *cutter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				t.Error(err)
				return
			}
			all.Go(func() {
				io.Copy(out, in) //nolint:errcheck // it is cut
				out.Close()      //nolint:errcheck // likewise
			})
			all.Go(func() {
				io.CopyN(in, out, int64(limit)) //nolint:errcheck // it is cut
				in.Close()                      //nolint:errcheck // likewise
			})
		}
	})
	return &cutter{l.Addr().String(), func() {
		l.Close() //nolint:errcheck // it only listened
		all.Wait()
	}}
}

// An interrupted upload is repeated, and a document from elsewhere or of another source stays.
func TestStays(t *testing.T) {
	w := newWorld(t)
	w.paths["mail:<one@example.com>"] = "inbox.mbox"
	w.fail = errors.New("cut")
	if _, err := w.sync(); err == nil || len(w.paths) != 1 {
		t.Fatalf("%v, holds %s", err, w.holds())
	}
	w.must()
	other := w.source
	other.Name, other.Folders = "other", []string{"Archive"}
	w.others = []Source{w.source, other}
	first := w.source
	w.source = other
	if w.must(); w.holds() != all || len(w.sent) != 0 {
		t.Errorf("holds %s, sent %v", w.holds(), w.sent)
	}
	// The other source follows Archive, and this one no longer does.
	w.source = first
	w.source.Folders = []string{"INBOX"}
	w.Move("INBOX", "Archive", "three")
	w.source = other
	w.must()
	w.source = first
	w.source.Folders = []string{"INBOX"}
	w.Remove("INBOX", "one")
	w.Remove("INBOX", "two")
	w.Put("INBOX", "zero", mailText("zero"))
	if w.must(); w.holds() != "four one three zero" {
		t.Errorf("holds %s", w.holds())
	}
}

// Watch sees changes as the server reports them, and connects again after an error.
func TestWatch(t *testing.T) {
	w := newWorld(t)
	s, err := OpenState(w.files(), w.source)
	w.ok(err)
	defer func() { w.ok(s.Close()) }()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	steps := []func(){
		func() { w.Put("INBOX", "yfive", mailText("five")) },
		func() { w.Remove("INBOX", "one") },
		func() { w.Put("Archive", "za1", mailText("a1")) }, // thrice: one pass comes anyway
		func() { w.Put("Archive", "za2", mailText("a2")) },
		func() { w.Put("Archive", "za3", mailText("a3")) },
		func() {
			w.fail = fault.New(fault.Unavailable, "test", "the daemon is gone")
			w.Put("INBOX", "zsix", mailText("six"))
		},
		stop,
	}
	const one = "five four three two"
	wants := []string{all, "five " + all, one, "a1 " + one, "a1 a2 " + one, "a1 a2 a3 " + one, "a1 a2 a3 five four six three two"}
	waited := 0
	times := Times{Poll: time.Hour, Quiet: time.Millisecond, Retry: time.Millisecond}
	err = Watch(ctx, w.source, func() (string, error) { return w.password, nil }, times, func(ctx context.Context, a *Account) error {
		if _, err := Run(ctx, a, w.options(s)); err != nil {
			return err
		}
		if len(wants) > 0 && w.holds() == wants[0] {
			wants = wants[1:]
			steps[0]()
			steps = steps[1:]
		}
		return nil
	}, func(error) { waited++ })
	if err != nil || len(steps) > 0 || waited != 1 || !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("%v, %d steps left, waited %d, holds %s", err, len(steps), waited, w.holds())
	}
}

// In an encrypted folder nothing of an account can be read, not even of the mails that are on
// their way, and a second Sync fetches nothing.
func TestEncrypted(t *testing.T) {
	w := newWorld(t)
	w.data, w.key.File = filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "key")
	w.ok(os.WriteFile(w.key.File, []byte("the passphrase"), 0o600))
	w.ok(home.Encrypt(w.data, w.key, encryption.Cost{Time: 1, MemoryKiB: 8, Threads: 1}))
	w.ok(OpenStore(w.files()).Put(w.source, w.password))
	looked, files := 0, 0
	w.look = func() {
		looked++
		w.ok(filepath.WalkDir(w.data, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			files++
			b, err := os.ReadFile(path)
			for _, word := range []string{"boat", "Message-ID", "INBOX", "Archive", w.password, w.source.Name, w.source.User, w.source.Address} {
				if strings.Contains(strings.TrimPrefix(path, w.data)+string(b), word) {
					t.Errorf("%s has %q", path, word)
				}
			}
			return err
		}))
	}
	big := mailText("big") + strings.Repeat("A line about boats.\n", 10_000) // of several pieces
	w.Put("INBOX", "ybig", big)
	if w.must(); w.holds() != "big "+all || looked != 2 || files < 5 {
		t.Fatalf("holds %s, looked %d times at %d files", w.holds(), looked, files)
	}
	if w.must(); len(w.sent) > 0 {
		t.Errorf("sent again: %v", w.sent)
	}
	w.look() // at what is left
	w.Remove("INBOX", "ybig")
	if w.must(); w.holds() != all {
		t.Errorf("holds %s", w.holds())
	}
}
