package trial

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"reflect"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/systems"
)

// probe asks percached about itself and about the size of a slice.
func (r *runner) probe(ctx context.Context) error {
	return r.withDaemon(ctx, func(api *client.Client) error {
		about, err := call[client.About](api.About(ctx))
		if err != nil {
			return err
		}
		config, err := call[client.Config](api.GetConfig(ctx))
		if err != nil {
			return err
		}
		run := &r.Run
		run.Version, run.Model, run.Embedder = about.Version, about.Model, about.Embedder
		run.Settings = map[string]string{}
		for _, s := range config.Settings {
			// These differ each time.
			if s.Source != client.SettingSourceDefault && s.Key != "data" && s.Key != "listen" {
				run.Settings[s.Key] = s.Value
				if filepath.IsAbs(s.Value) { // a folder has no meaning on another machine
					run.Settings[s.Key] = filepath.Base(s.Value)
				}
			}
		}
		bytes := 0.0
		if about.Model.NoSlices == nil {
			if bytes, err = r.sliceBytes(ctx, api); err != nil {
				return err
			}
		}
		for i := range run.Systems {
			setTensorLimit(&run.Systems[i], run.Plan, bytes)
		}
		return nil
	})
}

// setTensorLimit sets a system's limit of tensors.
func setTensorLimit(s *eval.System, p eval.Plan, sliceBytes float64) {
	all := p.LimitBytes
	s.Settings.TensorLimit = &all
	if s.Then != nil {
		s.Then.TensorLimit = &all
	}
	if n := systems.Slices(*s); n > 0 {
		s.Settings.TensorLimit = new(int64(float64(n) * sliceBytes))
	}
	if s.Settings.Stride == nil {
		s.Settings.Stride = &p.Stride
	}
}

// sliceBytes is the mean size of a chunk's tensors, over some chunks of the first user.
func (r *runner) sliceBytes(ctx context.Context, api *client.Client) (float64, error) {
	const someFiles, someQuestions = 30, 5
	u := &unit{runner: r, api: api, set: &r.Data.Sets[0], Unit: &eval.Unit{}}
	settings := client.Settings{Bank: new(false), Tensors: new(true), Placement: new(client.PlacementSequential)}
	if err := u.configure(ctx); err != nil {
		return 0, err
	}
	if err := u.space(ctx, warmup, settings); err != nil {
		return 0, err
	}
	if _, err := u.addFiles(ctx, warmup, someFiles); err != nil {
		return 0, err
	}
	failed := ""
	questions := questionOrder(u.set, &r.Run.Plan)
	for _, a := range questions[:min(someQuestions, len(questions))] {
		_, failure, err := u.askOnce(ctx, warmup, a.Text)
		if err != nil {
			return 0, err
		}
		if failure != "" {
			failed = ": " + failure
		}
	}
	tree, err := call[client.Tree](api.GetTree(ctx, warmup, &client.GetTreeParams{Limit: new(1000)}))
	if err != nil {
		return 0, err
	}
	sum, n := 0.0, 0.0
	for _, s := range tree.Slices {
		if s.Chunk != nil {
			sum, n = sum+float64(s.Bytes), n+1
		}
	}
	if n == 0 {
		return 0, fmt.Errorf("cannot measure the size of a slice: the first questions stored no tensors of a chunk%s", failed)
	}
	return sum / n, nil
}

// difference names what makes two runs different; empty: nothing.
func difference(a, b *eval.Run) string {
	for _, c := range []struct {
		what string
		a, b any
	}{
		{"data set", a.Dataset, b.Dataset},
		{"version", a.Version + a.Commit, b.Version + b.Commit},
		{"machine", a.Machine, b.Machine},
		{"model", a.Model.Fingerprint, b.Model.Fingerprint},
		{"embedding model", a.Embedder, b.Embedder},
		{"service's settings", fmt.Sprint(a.Settings), fmt.Sprint(b.Settings)},
		{"plan", a.Plan, b.Plan},
		{"list of systems", names(a.Systems), names(b.Systems)},
		{"settings of systems", marshalled(a.Systems), marshalled(b.Systems)},
		{"list of users", a.Users, b.Users},
		{"data", a.DataSum, b.DataSum},
	} {
		if !reflect.DeepEqual(c.a, c.b) {
			return c.what
		}
	}
	return ""
}

func names(systems []eval.System) (names []string) {
	for _, s := range systems {
		names = append(names, s.Name)
	}
	return names
}

// marshalled compares settings by value, which have pointers.
func marshalled(systems []eval.System) string {
	b, err := json.Marshal(systems)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// digest identifies data: all bytes of the files, and all of the questions.
func digest(d *eval.Data) (string, error) {
	all := sha256.New()
	say := json.NewEncoder(all)
	for i := range d.Sets {
		s := &d.Sets[i]
		if err := say.Encode([]any{s.User, s.Kind, s.Ordered, s.Questions, len(s.Files)}); err != nil {
			return "", err
		}
		for _, f := range s.Files {
			sum, err := fileDigest(f)
			if err == nil {
				err = say.Encode([]string{f.Name, sum})
			}
			if err != nil {
				return "", err
			}
		}
	}
	return hex.EncodeToString(all.Sum(nil)[:16]), nil
}

func fileDigest(f eval.File) (string, error) {
	in, err := f.Open()
	if err != nil {
		return "", err
	}
	defer in.Close() //nolint:errcheck // nothing was written
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
