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

	"golang.org/x/sync/errgroup"

	"github.com/percached/percached/internal/base/kv"
)

const flushEnv = "PERCACHED_KV_FLUSH"

// flushOptions fill a memtable with a few dozen changes.
func flushOptions() kv.Options {
	o := options()
	o.MemTableSize = 1 << 20
	return o
}

// flushing writes from several goroutines, so that logs are flushed and tables are
// merged, until it is killed.
func flushing(dir string) error {
	db, err := kv.Open(dir, in(dir, flushOptions()))
	if err != nil {
		return err
	}
	fmt.Println("open")
	var g errgroup.Group
	for who := range 3 {
		g.Go(func() error {
			for n := 0; ; n++ {
				var have int
				mine := []byte{'n', byte('0' + who)}
				if err := db.Update(func(tx *kv.Tx) error {
					b, err := tx.Get(mine)
					if err == nil {
						have, err = strconv.Atoi(string(b))
					} else {
						err = nil
					}
					have++
					return errors.Join(err, tx.Set(mine, fmt.Appendf(nil, "%d", have)),
						tx.Set(fmt.Appendf(mine, " small %d", have%40), large(byte(have), 20<<10)),
						tx.Set(fmt.Appendf(mine, " big %d", have%5), large(byte(have), 40<<10)),
						tx.Delete(fmt.Appendf(mine, " small %d", (have+9)%40)))
				}); err != nil {
					return err
				}
				fmt.Println("wrote", who, have)
				if who == 0 && n%50 == 49 {
					if err := db.Reclaim(context.Background()); err != nil {
						return err
					}
				}
			}
		})
	}
	return g.Wait()
}

// A process that is killed while logs are flushed, tables merged and space given
// back leaves a database that opens, with all that was acknowledged.
func TestKilledFlushing(t *testing.T) {
	base := t.TempDir()
	rnd := rand.New(rand.NewPCG(3, 4))
	dirs := [2]string{filepath.Join(base, "db"), filepath.Join(base, "db"+encryptedEnd)}
	all := [2]map[string]int{{}, {}}
	kills := 25
	if testing.Short() {
		kills = 6
	}
	for i := range kills {
		dir, acknowledged := dirs[i%2], all[i%2] // by turns plain and encrypted
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), flushEnv+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := rnd.IntN(300)
		for s := bufio.NewScanner(out); s.Scan(); lines-- {
			if f := strings.Fields(s.Text()); f[0] == "wrote" {
				if acknowledged[f[1]], err = strconv.Atoi(f[2]); err != nil {
					t.Fatal(err)
				}
			}
			if lines == 0 {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		if lines >= 0 {
			t.Fatal("the child ended by itself")
		}
		if i%3 == 0 { // the next child opens what was left
			continue
		}
		db := open(t, dir, in(dir, flushOptions()))
		for who, want := range acknowledged {
			if err := db.View(func(tx *kv.Tx) error {
				b, err := tx.Get([]byte("n" + who))
				if err != nil {
					return err
				}
				have, err := strconv.Atoi(string(b))
				if have < want {
					t.Errorf("acknowledged %d, found %d", want, have)
				}
				for _, key := range []string{fmt.Sprintf("n%s small %d", who, have%40), fmt.Sprintf("n%s big %d", who, have%5)} {
					v, failed := tx.Get([]byte(key))
					if failed != nil || v[0] != byte(have) {
						t.Errorf("%s: %v", key, failed)
					}
				}
				return err
			}); err != nil {
				t.Error(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
