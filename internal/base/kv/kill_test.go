package kv_test

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

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

const childEnv = "PERCACHED_KV_CHILD"

// child writes and rewrites until it is killed, and says what it has done.
func child(dir string) error {
	db, err := kv.Open(dir, in(dir, options()))
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		value := fmt.Appendf(nil, "%d", n)
		if err := db.Update(func(tx *kv.Tx) error {
			return errors.Join(tx.Set([]byte("a"), value), tx.Set([]byte("b"), value), tx.Set([]byte("big"), large(byte(n), 100<<10)))
		}); err != nil {
			return err
		}
		fmt.Println("wrote", n)
		if n%10 == 0 {
			if err := db.Rewrite(context.Background(), func(_, total int64) { fmt.Println("copied") }); err != nil {
				return err
			}
			fmt.Println("rewrote")
		}
	}
}

// encryptedEnd ends the name of a folder whose database is encrypted.
const encryptedEnd = "-encrypted"

// in are the options for the database in a folder.
func in(dir string, o kv.Options) kv.Options {
	if strings.HasSuffix(dir, encryptedEnd) {
		o.Key = large(7, 32)
	}
	return o
}

// A killed process leaves all that it had acknowledged, and nothing by halves. Every other one
// uses an encrypted database.
func TestKilled(t *testing.T) {
	base := t.TempDir()
	rnd := rand.New(rand.NewPCG(1, 2))
	kills := 20
	if testing.Short() {
		kills = 6
	}
	for i := range kills {
		dir := filepath.Join(base, "db")
		if i%2 == 1 {
			dir += encryptedEnd
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		acknowledged, lines := 0, 8+rnd.IntN(60)
		for s := bufio.NewScanner(out); s.Scan(); lines-- {
			if n, ok := strings.CutPrefix(s.Text(), "wrote "); ok {
				if acknowledged, err = strconv.Atoi(n); err != nil {
					t.Fatal(err)
				}
			}
			if lines == 0 {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		if lines > 0 {
			t.Fatal("the child ended by itself")
		}
		db := open(t, dir, in(dir, options()))
		var have string
		if err := db.View(func(tx *kv.Tx) error {
			a, err := tx.Get([]byte("a"))
			if err != nil {
				return err
			}
			b, err := tx.Get([]byte("b"))
			if err != nil {
				return err
			}
			big, err := tx.Get([]byte("big"))
			have = string(a)
			if n, _ := strconv.Atoi(have); n < acknowledged || have != string(b) || len(big) != 100<<10 || string(big) != string(large(byte(n), 100<<10)) {
				t.Errorf("acknowledged %d, found %s and %s", acknowledged, a, b)
			}
			return err
		}); err != nil && fault.KindOf(err) != fault.NotFound {
			t.Error(err)
		}
		if got, _ := filepath.Glob(dir + ".*"); got != nil {
			t.Errorf("left beside it: %q", got)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
