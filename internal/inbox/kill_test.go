package inbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
)

// TestMain runs the victim of TestKill if the environment asks for it.
func TestMain(m *testing.M) {
	if dir := os.Getenv("INBOX_VICTIM"); dir != "" {
		from, err := strconv.Atoi(os.Getenv("INBOX_FROM"))
		if err == nil {
			err = victim(dir, from)
		}
		fmt.Println("failed", err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// noise are spaces whose uploads are not checked.
var noise = []string{"noise", "more-noise"}

// contents returns the files of the upload with this number; some are newer editions
// of others.
func contents(n int) (files []sent) {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	for range 1 + rng.IntN(5) {
		files = append(files, sent{fmt.Sprintf("d%02d.txt", rng.IntN(20)), fmt.Sprintf("Edition %d.%s", n, strings.Repeat(" The garden is green.", rng.IntN(50)))})
	}
	return append(files, sent{fmt.Sprintf("only%d.txt", n), fmt.Sprintf("Only in upload %d.", n)})
}

// victim sends and deletes until it is killed, and prints what it does, before and
// after. Uploads to other spaces make uploads yield to each other, for every other
// victim at each document.
func victim(dir string, from int) error {
	w, err := openWorld(dir, func(o *inbox.Options) {
		if from%2 == 0 {
			o.Lanes, o.Turn = 1, 0
		}
	})
	if err != nil {
		return err
	}
	for _, space := range noise {
		if err := w.Knowledge.CreateSpace(percached.Space{Name: space, Kind: "notes"}); err != nil {
			return err
		}
	}
	ctx := context.Background()
	go func() {
		if err := w.Inbox.Run(ctx); err != nil {
			fmt.Println("failed", err)
		}
	}()
	fmt.Println("open")
	for n := from; ; n++ {
		for _, space := range noise[:n%3] {
			if _, err := w.Inbox.Accept(ctx, space, "", each(notes(n, n+2)...)); err != nil {
				return err
			}
		}
		fmt.Println("sending", n)
		if _, err := w.Inbox.Accept(ctx, "mail", fmt.Sprint(n), each(contents(n)...)); err != nil {
			return err
		}
		fmt.Println("accepted", n)
		if n%5 != 0 {
			continue
		}
		key := "file:" + contents(n)[0].name
		id := percached.NewDocumentID(key)
		if _, err := w.Knowledge.Document("mail", id); fault.KindOf(err) == fault.NotFound {
			continue
		}
		fmt.Println("deleting", key)
		if err := w.Inbox.Withhold(ctx, "mail", id); err != nil {
			return err
		}
		if _, err := w.Library.Delete(ctx, "mail", id); err != nil {
			return err
		}
		for _, u := range w.Inbox.List("mail", 1_000_000) {
			if strings.Contains(u.Error, gaveUp) { // Forget removes it from the list
				fmt.Println("gaveup", u.Key)
			}
		}
		if err := w.Inbox.Forget("mail"); err != nil {
			return err
		}
		fmt.Println("deleted", key)
	}
}

// witness knows what the victims printed.
type witness struct {
	*testing.T
	dir  string
	rng  *rand.Rand
	next int
	// Texts has each document's text, by key; empty means that it must not exist. A
	// document in unsure may have any of those.
	texts  map[string]string
	unsure map[string][]string
	killed int
}

// Killed at any moment, again and again: what was acknowledged is there, what was
// deleted is not, and nothing else is.
func TestKill(t *testing.T) {
	kills := 25
	if testing.Short() {
		kills = 5
	}
	for _, folder := range []string{"plain", encryptedEnd} {
		v := &witness{T: t, dir: filepath.Join(t.TempDir(), folder), rng: rand.New(rand.NewPCG(3, 4)), next: 1, texts: map[string]string{}, unsure: map[string][]string{}}
		if err := os.Mkdir(v.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for v.killed < (kills+1)/2 && !t.Failed() {
			v.run()
			if v.killed%5 == 0 || v.killed == (kills+1)/2 {
				v.examine()
			}
		}
		t.Logf("%s: killed %d times, %d uploads", folder, v.killed, v.next-1)
	}
}

// run lets a process work until it has printed some lines, and a little longer.
func (v *witness) run() {
	v.Helper()
	exe, err := os.Executable()
	if err != nil {
		v.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "INBOX_VICTIM="+v.dir, fmt.Sprint("INBOX_FROM=", v.next))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		v.Fatal(err)
	}
	lines, kill := v.rng.IntN(60), func() { cmd.Process.Kill() } // SIGKILL
	if v.rng.IntN(4) == 0 {
		lines = 1 // while it stores earlier uploads
	}
	if v.killed%3 == 2 {
		lines += 20 // long enough for progress: an upload fails after three deaths in a row
	}
	s := bufio.NewScanner(out)
	for n := 0; s.Scan(); n++ {
		v.heard(s.Text())
		if n == lines {
			defer time.AfterFunc(time.Duration(v.rng.IntN(10_000))*time.Microsecond, kill).Stop()
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		v.Fatalf("it was not killed: %v", err)
	}
	v.killed++
}

func (v *witness) heard(line string) {
	v.Helper()
	what, about, _ := strings.Cut(line, " ")
	n, _ := strconv.Atoi(about)
	switch what {
	case "open":
	case "sending":
		v.next = n + 1
		for _, f := range contents(n) {
			v.may("file:"+f.name, f.text)
		}
	case "accepted":
		for _, f := range contents(n) {
			v.must("file:"+f.name, f.text)
		}
	case "gaveup": // three victims were killed in it, by chance
		v.gaveUp(n)
	case "deleting":
		// Queued editions are withheld from here on, so that an edition before the
		// last may be stored until it is deleted.
		v.may(about, "", anything)
	case "deleted":
		v.must(about, "")
	default:
		v.Errorf("it says %q", line)
	}
}

const (
	anything = "*"
	gaveUp   = "does not try again" // in the error of such an upload
)

// gaveUp notes that any document of an upload may be stored.
func (v *witness) gaveUp(n int) {
	for _, f := range contents(n) {
		v.may("file:"+f.name, "", anything)
	}
}

func (v *witness) may(key string, texts ...string) {
	v.unsure[key] = append(append(v.unsure[key], v.texts[key]), texts...)
}

func (v *witness) must(key, text string) {
	v.texts[key] = text
	delete(v.unsure, key)
}

// examine opens the folder as the next process would, and stores what waits.
func (v *witness) examine() {
	v.Helper()
	w, err := openWorld(v.dir, nil)
	if err != nil {
		v.Fatal(err)
	}
	defer func() {
		if err := w.close(); err != nil {
			v.Error(err)
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	end := make(chan error, 1)
	go func() { end <- w.Inbox.Run(ctx) }()
	for _, space := range noise {
		for _, u := range w.Inbox.List(space, 1_000_000) {
			if _, err := w.Inbox.Wait(ctx, u.ID); err != nil {
				v.Error(err)
			}
		}
	}
	for _, u := range w.Inbox.List("mail", 1_000_000) {
		u, err := w.Inbox.Wait(ctx, u.ID)
		switch {
		case err == nil && u.State == "done":
		case err == nil && strings.Contains(u.Error, gaveUp):
			n, _ := strconv.Atoi(u.Key)
			v.gaveUp(n)
		default:
			v.Errorf("%+v %v", u, err)
		}
	}
	cancel()
	if err := <-end; err != nil {
		v.Error(err)
	}
	docs := w.documents(v.T, "mail")
	for key := range v.unsure {
		v.settle(key, docs[key])
	}
	for key, text := range v.texts {
		if text != docs[key] {
			v.Errorf("after %d kills %s is %.20q, and should be %.20q", v.killed, key, docs[key], text)
		}
		delete(docs, key)
	}
	for key, text := range docs {
		v.Errorf("after %d kills there is %s: %.20q", v.killed, key, text)
	}
	for _, name := range entries(v.T, v.dir+"/inbox") {
		v.Errorf("%s is left", name)
	}
}

// settle compares a document that may have changed with what it may be.
func (v *witness) settle(key, text string) {
	v.Helper()
	for _, may := range v.unsure[key] {
		if may == anything || may == text {
			v.must(key, text)
			return
		}
	}
	v.Errorf("after %d kills %s is %.20q, and may be %.20q", v.killed, key, text, v.unsure[key])
	v.must(key, text)
}
