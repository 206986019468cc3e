package remotebackup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/percached/percached/internal/base/fault"
)

const (
	// partBytes is the size of a part; two are in memory.
	partBytes = 16 << 20
	// most is the largest archive. A server takes 10,000 parts, and the client leaves out what does
	// not fit into them, without an error.
	most = 9_999 * partBytes
	// retries of one request; the caller repeats the backup.
	retries = 3
	// stall is how long an upload may pause before it is given up.
	stall = 10 * time.Minute
	// answerTime is how long a server may take to begin its response.
	answerTime = 2 * time.Minute
)

// Store is a place in object storage with the credentials for it.
type Store struct {
	place     Place
	client    *minio.Client
	transport *http.Transport
	most      int64 // bytes of an archive
}

// Open makes a Store. It sends nothing. The credentials are in keyFile, or else in the environment.
func Open(place Place, keyFile string, getenv func(string) string) (*Store, error) {
	const op = "remotebackup.Open"
	secret, err := keys(keyFile, getenv)
	if err != nil {
		return nil, err
	}
	s := &Store{place: place, transport: http.DefaultTransport.(*http.Transport).Clone(), most: most}
	s.transport.ResponseHeaderTimeout = answerTime
	s.client, err = minio.New(place.Endpoint, &minio.Options{
		Creds: secret, Secure: !place.Plain, Region: place.Region, Transport: s.transport, MaxRetries: retries,
	})
	if err != nil {
		return nil, fault.New(fault.Invalid, op, "cannot use %s: %w", place, err)
	}
	return s, nil
}

// Close closes idle connections.
func (s *Store) Close() { s.transport.CloseIdleConnections() }

// Place returns where the store is.
func (s *Store) Place() Place { return s.place }

// object is an object below the prefix.
type object struct {
	name string
	size int64
}

// list returns all objects below the prefix that a backup has. It leaves out those of others.
func (s *Store) list(ctx context.Context) (all []object, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing after an error
	root := s.place.object("")
	for o := range s.client.ListObjects(ctx, s.place.Bucket, minio.ListObjectsOptions{Prefix: root, Recursive: true}) {
		if o.Err != nil {
			return nil, s.failed("list", o.Err)
		}
		if name := strings.TrimPrefix(o.Key, root); ours(name) {
			all = append(all, object{name, o.Size})
		}
	}
	return all, ctx.Err()
}

// put stores what from contains, and returns its size and checksum.
func (s *Store) put(ctx context.Context, name string, from io.Reader) (int64, string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(stall, func() {
		cancel(fault.New(fault.Timeout, "remotebackup.put", "the server took nothing for %v", stall))
	})
	defer late.Stop()
	sum := &summedReader{from: from, sum: sha256.New(), most: s.most, read: func() { late.Reset(stall) }}
	// What fits into one part is complete before it is sent, so that its snapshot does not wait for the server.
	first, err := io.ReadAll(io.LimitReader(sum, partBytes))
	if err != nil {
		return 0, "", err
	}
	var body io.Reader = bytes.NewReader(first)
	length := int64(len(first))
	if length == partBytes {
		body, length = io.MultiReader(body, sum), -1
	}
	info, err := s.client.PutObject(ctx, s.place.Bucket, s.place.object(name), body, length, minio.PutObjectOptions{
		ContentType: "application/octet-stream", PartSize: partBytes, NumThreads: 1,
	})
	if sum.err != nil { // the archive failed, not the server
		return 0, "", sum.err
	}
	if err == nil && info.Size >= 0 && info.Size != sum.n { // Google Cloud Storage: -1
		err = errors.New("the server reports another size than it was sent")
	}
	if err != nil {
		if why := context.Cause(ctx); why != nil {
			err = why
		}
		return 0, "", s.failed("write to", err)
	}
	stored, err := s.client.StatObject(ctx, s.place.Bucket, s.place.object(name), minio.StatObjectOptions{})
	if err == nil && stored.Size != sum.n {
		err = errors.New("the server stored another size than it was sent")
	}
	if err != nil {
		return 0, "", s.failed("write to", err)
	}
	return sum.n, hex.EncodeToString(sum.sum.Sum(nil)), nil
}

// summedReader counts what is read, and computes its checksum.
type summedReader struct {
	from io.Reader
	sum  hash.Hash
	n    int64
	most int64 // an error beyond
	read func()
	err  error // of from, but not io.EOF
}

func (r *summedReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	r.sum.Write(b[:n])
	r.n += int64(n)
	r.read()
	if r.n > r.most {
		err = fault.New(fault.Unsupported, "remotebackup.put", "the archive is larger than %d GiB, the most that backups to object storage take; use percached backup FILE", r.most>>30)
	}
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// get reads an object.
func (s *Store) get(ctx context.Context, name string) (io.ReadCloser, error) {
	o, err := s.client.GetObject(ctx, s.place.Bucket, s.place.object(name), minio.GetObjectOptions{})
	if err == nil {
		_, err = o.Stat() // sends the request
	}
	if err != nil {
		return nil, s.failed("read from", err)
	}
	return &gotten{o, s}, nil
}

// gotten is an object whose errors say where they come from.
type gotten struct {
	*minio.Object
	store *Store
}

func (g *gotten) Read(b []byte) (int, error) {
	n, err := g.Object.Read(b)
	if err != nil && err != io.EOF {
		err = g.store.failed("read from", err)
	}
	return n, err
}

// remove deletes objects. One that is missing is no error.
func (s *Store) remove(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := s.client.RemoveObject(ctx, s.place.Bucket, s.place.object(name), minio.RemoveObjectOptions{}); err != nil {
			return s.failed("delete in", err)
		}
	}
	return nil
}

// dropIncomplete gives up uploads of backups that began before a time and never ended.
func (s *Store) dropIncomplete(ctx context.Context, before time.Time) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	root := s.place.object("")
	for u := range s.client.ListIncompleteUploads(ctx, s.place.Bucket, root, true) {
		if u.Err != nil { // a server may not support it
			return
		}
		if u.Initiated.Before(before) && ours(strings.TrimPrefix(u.Key, root)) {
			_ = s.client.RemoveIncompleteUpload(ctx, s.place.Bucket, u.Key)
		}
	}
}

// failed says what did not work, and why, without names of objects.
func (s *Store) failed(doing string, err error) error {
	const op = "remotebackup"
	if errors.Is(err, context.Canceled) {
		return err
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	switch r := minio.ToErrorResponse(err); r.Code {
	case "NoSuchBucket":
		return fault.New(fault.NotFound, op, "cannot %s %s: there is no bucket %s; create it", doing, s.place, s.place.Bucket)
	case "NoSuchKey":
		return fault.New(fault.NotFound, op, "cannot %s %s: an object is missing", doing, s.place)
	case "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken":
		return fault.New(fault.Unavailable, op, "cannot %s %s: the server refuses the credentials (%s); check backup-key-file and the policy of the bucket", doing, s.place, r.Code)
	}
	return fault.New(fault.Unavailable, op, "cannot %s %s: %w", doing, s.place, err)
}
