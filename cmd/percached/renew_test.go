package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/link"
)

// A failed renewal is reported once and is not a success. The reason why nothing was renewed is
// printed.
func TestRenewTells(t *testing.T) {
	const zeros = `"preempted":0,"computed_tokens":0,"generated_tokens":0,"bytes_written":0,"seconds":0,"kinds":[]`
	for _, tc := range []struct {
		name, body, says string
		unwell           bool
	}{
		{"done", `{"done":2,"nothing":0,"failed":0,"parked":0,"questions":2,"reasons":[{"code":"nothing_due","text":"nothing is due"}],` + zeros + `}`, "refreshed 2 answers\n", false},
		{"parked", `{"done":0,"nothing":0,"failed":1,"parked":1,"questions":0,"reasons":[],` + zeros + `}`, "refreshed 0 answers\nfailed: 1; percached idle queue shows why\n", true},
		{"paused", `{"done":0,"nothing":0,"failed":0,"parked":0,"questions":0,"reasons":[{"code":"paused","text":"idle work is paused"}],` + zeros + `}`, "refreshed 0 answers\n  idle work is paused\n", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, tc.body)
			}))
			defer s.Close()
			l, err := link.New(s.URL, "secret", http.DefaultTransport)
			if err != nil {
				t.Fatal(err)
			}
			l.Close = func() error { return nil }
			var out bytes.Buffer
			root := &cobra.Command{Use: "percached", SilenceErrors: true, SilenceUsage: true}
			root.AddCommand(linkCommands(func(*cobra.Command, need) (*link.Link, error) { return l, nil })...)
			root.SetOut(&out)
			root.SetArgs([]string{"qa", "renew"})
			err = root.ExecuteContext(t.Context())
			if d := cmp.Diff(tc.says, out.String()); d != "" || errors.As(err, new(cmdline.Unwell)) != tc.unwell || (err != nil) != tc.unwell {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}
