package scheduler

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

const (
	childEnv  = "PERCACHED_SCHEDULER_CHILD"
	childJobs = 3000
)

// stubborn reports whether a job always fails.
func stubborn(n int) bool { return n%7 == 3 }

// child works until it is killed, and prints how each job ended. It records the results
// of its jobs in a separate file.
func child(dir string) error {
	o := kv.Default()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree = 4<<20, 1<<20, 0
	db, err := kv.Open(filepath.Join(dir, "db"), o)
	if err != nil {
		return err
	}
	made, done, err := openMade(dir)
	if err != nil {
		return err
	}
	now := noon().Add(time.Duration(len(done)) * time.Minute)
	s, err := Open(Options{DB: db, Config: killConfig(), Now: func() time.Time { return now }, Worker: &script{
		due: func(_ context.Context, _ string, k Kind, limit int) (due []Due, err error) {
			for n := 0; n < childJobs && k == Answer && len(due) < limit; n++ {
				if !slices.Contains(done, n) {
					due = append(due, Due{Subject: fmt.Sprint(n)})
				}
			}
			return due, nil
		},
		do: func(_ context.Context, j Job) (Done, error) {
			var n int
			fmt.Sscan(j.Subject, &n)
			now = now.Add(time.Second)
			switch {
			case stubborn(n):
				return Done{}, fault.New(fault.Unavailable, "child.Do", "never")
			case slices.Contains(done, n):
				return Done{Nothing: true}, nil
			}
			done = append(done, n)
			_, err := fmt.Fprintln(made, n)
			return Done{Credits: []Credit{{ID: [16]byte{byte(n), byte(n >> 8)}}}}, err
		},
	}})
	if err != nil {
		return err
	}
	for {
		now = now.Add(time.Minute)
		st, err := s.Step(context.Background())
		if err != nil {
			return err
		}
		if st.Job != nil {
			fmt.Println(st.End, st.Job.Subject)
		}
	}
}

func killConfig() Config {
	c := atNoon()
	c.Budget = Budget{Compute: 1000 * time.Hour, Questions: 1, Written: 1}
	c.Retry = Retry{First: time.Minute, Longest: time.Hour, Attempts: 3}
	return c
}

// openMade opens the file of results and reads it.
func openMade(dir string) (f *os.File, made []int, err error) {
	f, err = os.OpenFile(filepath.Join(dir, "made"), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	for s := bufio.NewScanner(f); s.Scan(); {
		var n int
		fmt.Sscan(s.Text(), &n)
		made = append(made, n)
	}
	return f, made, nil
}

// After a process is killed, the queue matches its last output: finished jobs are gone,
// parked ones stay parked, no attempt is lost, and every reported job is in the ledger
// once.
func TestKilled(t *testing.T) {
	rounds := 15
	if testing.Short() {
		rounds = 3
	}
	if s := os.Getenv("PERCACHED_KILLS"); s != "" {
		fmt.Sscan(s, &rounds)
	}
	dir := t.TempDir()
	rnd := rand.New(rand.NewPCG(7, 8))
	ended := map[End]map[string]int{EndDone: {}, EndNothing: {}, EndFailed: {}, EndParked: {}}
	for range rounds {
		kill(t, dir, 1+rnd.IntN(40), ended)
		db := openDB(t, filepath.Join(dir, "db"))
		s, err := Open(Options{DB: db, Config: killConfig(), Now: noon, Worker: &script{}, Observer: Observer{
			Damaged: func(err error) { t.Error(err) },
		}})
		must(t, err)
		queue := map[string]Job{}
		for _, j := range s.Queue() {
			queue[j.Subject] = j
			if n := ended[EndDone][j.Subject]; n > 0 {
				t.Errorf("%+v was done and is in the queue", j)
			}
			if j.Attempts < ended[EndFailed][j.Subject] {
				t.Errorf("%+v failed %d times", j, ended[EndFailed][j.Subject])
			}
		}
		for subject := range ended[EndParked] {
			if !queue[subject].Parked {
				t.Errorf("%s was parked and is not", subject)
			}
		}
		audit(t, dir, s, ended)
		must(t, s.Close())
		must(t, db.Close())
	}
	for subject, n := range ended[EndDone] {
		if n > 1 {
			t.Errorf("%s was done %d times", subject, n)
		}
	}
	for subject, n := range ended[EndParked] {
		if n > 1 {
			t.Errorf("%s was parked %d times", subject, n)
		}
	}
}

// kill lets a child finish this many jobs, then kills it.
func kill(t *testing.T, dir string, jobs int, ended map[End]map[string]int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	for s := bufio.NewScanner(out); s.Scan(); jobs-- {
		end, subject, _ := strings.Cut(s.Text(), " ")
		ended[End(end)][subject]++
		if jobs == 0 {
			cmd.Process.Kill()
		}
	}
	cmd.Wait()
	if jobs > 0 {
		t.Fatal("the child ended by itself")
	}
}

// audit compares the ledger with the output and the results.
func audit(t *testing.T, dir string, s *Scheduler, ended map[End]map[string]int) {
	t.Helper()
	f, made, err := openMade(dir)
	must(t, err)
	must(t, f.Close())
	accounts, err := s.Ledger("mail", time.Time{})
	must(t, err)
	if len(accounts) != 1 {
		t.Fatalf("%+v", accounts)
	}
	if n := accounts[0].Jobs; n < len(ended[EndDone]) || n > len(made) {
		t.Errorf("%d jobs are booked, %d were told, %d made something", n, len(ended[EndDone]), len(made))
	}
	if n := len(s.states[kv.NewSpaceID("mail")].credits); n != accounts[0].Jobs {
		t.Errorf("%d jobs are booked, but %d credits", accounts[0].Jobs, n)
	}
	tries := 0
	for _, n := range ended[EndFailed] {
		tries += n
	}
	if n := accounts[0].Failed; n < tries+len(ended[EndParked]) {
		t.Errorf("%d failures are booked, %d were told", n, tries+len(ended[EndParked]))
	}
}
