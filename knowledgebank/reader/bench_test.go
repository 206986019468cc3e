package reader

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/percached/percached/knowledgebank"
)

// BenchmarkMailbox reads a mailbox: the demo's, or the one that PERCACHED_MAILBOX
// names.
func BenchmarkMailbox(b *testing.B) {
	path := os.Getenv("PERCACHED_MAILBOX")
	if path == "" {
		path = "../../models/demo/inbox.mbox"
	}
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	r, err := New(Default())
	if err != nil {
		b.Fatal(err)
	}
	mails := 0
	for b.Loop() {
		err := r.Stream(context.Background(), path, bytes.NewReader(data), func(*knowledgebank.Source) error {
			mails++
			return nil
		}, func(name string, err error) { b.Error(name, err) })
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(mails)/b.Elapsed().Seconds(), "mails/s")
}
