package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval/load"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/child"
	"github.com/percached/percached/knowledgebank"
)

const scaleOp = "percached: scale"

// scaleConfig keeps idle work and limits out of the measurement: the only window is on 29 February.
const scaleConfig = "windows = 0 0 29 2 * 1m\nidle-after = 24h\nprediction = off\nbank-limit = 16GiB\n"

// scaleDaemon is a daemon on a data folder of its own.
type scaleDaemon struct {
	*child.Process
	*client.ClientWithResponses
	exe, dir string
	log      *os.File
}

// newScaleDaemon makes the folder of a daemon that start starts.
func newScaleDaemon(parent string) (*scaleDaemon, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fault.New(fault.Unavailable, scaleOp, "%w", err)
	}
	d := &scaleDaemon{exe: exe}
	if d.dir, err = os.MkdirTemp(parent, "scale-"); err != nil {
		return nil, fault.New(fault.Unavailable, scaleOp, "%w", err)
	}
	if err := os.WriteFile(d.config(), []byte(scaleConfig), 0o600); err != nil {
		return nil, fault.New(fault.Unavailable, scaleOp, "%w", err)
	}
	d.log, err = os.Create(filepath.Join(d.dir, "log"))
	if err != nil {
		return nil, fault.New(fault.Unavailable, scaleOp, "%w", err)
	}
	return d, nil
}

func (d *scaleDaemon) config() string { return filepath.Join(d.dir, "scale.conf") }
func (d *scaleDaemon) data() string   { return filepath.Join(d.dir, "data") }

// start starts the daemon for a number of clients.
func (d *scaleDaemon) start(ctx context.Context, clients int, stderr io.Writer) (err error) {
	d.Process, err = child.Start(ctx, d.exe, d.data(), d.log, "--config", d.config())
	if err != nil {
		child.ShowLog(d.log.Name(), stderr)
		return err
	}
	return d.connect(clients)
}

// connect keeps connections open for a number of clients.
func (d *scaleDaemon) connect(clients int) (err error) {
	d.ClientWithResponses, err = client.NewClientWithResponses(d.URL, client.WithToken(d.Token),
		client.WithHTTPClient(&http.Client{Transport: load.Transport(clients)}))
	return err
}

// stop stops the daemon, if it runs.
func (d *scaleDaemon) stop() error {
	if d.Process == nil {
		return nil
	}
	err := d.Process.Stop()
	d.Process = nil
	return err
}

// close stops the daemon and deletes its folder.
func (d *scaleDaemon) close() error {
	return errors.Join(d.stop(), d.log.Close(), os.RemoveAll(d.dir))
}

// startTimed starts the daemon again on its folder. It measures the disk space of the folder, the
// time until the daemon is ready, and until it has answered a search.
func (d *scaleDaemon) startTimed(ctx context.Context, v scaleValues, space string, stderr io.Writer) error {
	if err := d.stop(); err != nil {
		return err
	}
	// A daemon reserves files in advance, and gives them back when it stops.
	all, err := diskBytes(d.data())
	if err != nil {
		return err
	}
	tensors, err := diskBytes(filepath.Join(d.data(), "tensors"))
	if err != nil {
		return err
	}
	v["disk_bytes"], v["tensors_bytes"] = float64(all-tensors), float64(tensors)
	began := time.Now()
	if err := d.start(ctx, 1, stderr); err != nil {
		return err
	}
	v["ready_ms"] = ms(time.Since(began))
	_, err = d.search(ctx, space, hitQuestion(0))
	v["first_search_ms"] = ms(time.Since(began))
	return err
}

// settle waits until the daemon no longer computes: after its start it looks for idle work in all
// spaces. Only Linux shows what it computes.
func (d *scaleDaemon) settle(ctx context.Context, v scaleValues) error {
	const every, quiet = 500 * time.Millisecond, 5 // of 50 ticks
	began, before := time.Now(), d.ticks()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		now := d.ticks()
		if now-before <= quiet {
			v["settled_ms"] = max(0, ms(time.Since(began)-every))
			return nil
		}
		before = now
	}
}

// ticks is the processor time of the daemon in hundredths of a second; 0: unknown.
func (d *scaleDaemon) ticks() int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.PID()))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return user + system
}

// usage measures memory and open files.
func (d *scaleDaemon) usage(v scaleValues) {
	v["memory_bytes"], v["resident_bytes"] = float64(anonymous(d.PID())), float64(statusBytes(d.PID(), "VmRSS:"))
	if files, unknown := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.PID())); unknown == nil {
		v["open_files"] = float64(len(files))
	}
}

// diskBytes is the disk space of a folder.
func diskBytes(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				sum += kv.AllocatedBytes(info)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was merged away meanwhile
		}
		return err
	})
	return sum, err
}

func (d *scaleDaemon) createSpace(ctx context.Context, space string) error {
	got, err := d.CreateSpaceWithResponse(ctx, client.NewSpace{Name: space})
	if err != nil || got.StatusCode() != http.StatusCreated {
		return fault.New(fault.Internal, scaleOp, "creating a space: %w", child.Failure(err, got))
	}
	return nil
}

// upload adds mails and waits until they can be found.
func (d *scaleDaemon) upload(ctx context.Context, space string, mails ...client.NewDocument) error {
	wait := true
	got, err := d.UploadWithResponse(ctx, space, &client.UploadParams{Wait: &wait}, client.Texts{Documents: mails})
	if err != nil || got.StatusCode() != http.StatusOK {
		return fault.New(fault.Internal, scaleOp, "adding mails: %w", child.Failure(err, got))
	}
	return nil
}

func (d *scaleDaemon) search(ctx context.Context, space, text string) (time.Duration, error) {
	began := time.Now()
	got, err := d.SearchDocumentsWithResponse(ctx, space, &client.SearchDocumentsParams{Q: text})
	took := time.Since(began)
	switch {
	case err != nil || got.JSON200 == nil:
		return took, fault.New(fault.Internal, scaleOp, "searching: %w", child.Failure(err, got))
	case len(got.JSON200.Passages) == 0:
		return took, fault.New(fault.Internal, scaleOp, "a search found nothing")
	}
	return took, nil
}

// scaleAnswer is how a question was answered.
type scaleAnswer struct {
	outcome client.Outcome
	took    time.Duration // for the client
	outside time.Duration // of the model: embedding, bank, retrieval, paths of tensors, storing
}

// ask asks a question. With fresh, it is computed.
func (d *scaleDaemon) ask(ctx context.Context, space, text string, fresh bool) (scaleAnswer, error) {
	began := time.Now()
	got, err := d.AskWithResponse(ctx, space, client.Question{Question: text, Refresh: &fresh})
	if err != nil || got.JSON200 == nil {
		return scaleAnswer{}, fault.New(fault.Internal, scaleOp, "asking: %w", child.Failure(err, got))
	}
	t := got.JSON200.Times
	outside := (t["match_question_ms"] + t["retrieve_ms"] + t["match_tensors_ms"] + t["store_ms"]) * float64(time.Millisecond)
	return scaleAnswer{got.JSON200.Outcome, time.Since(began), time.Duration(outside)}, nil
}

// uploaded is an invented mail as a client sends it.
func uploaded(m *knowledgebank.Source) client.NewDocument {
	date := m.Date.Format(time.RFC3339)
	return client.NewDocument{Key: &m.Key, Title: &m.Title, Source: &m.Source, Date: &date, Text: m.Blocks[0].Text}
}
