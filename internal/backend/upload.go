package backend

import (
	"context"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/ingest"
)

func wireUpload(u inbox.Upload) api.UploadStatus {
	r := u.Report
	return api.UploadStatus{
		ID: u.ID, Space: u.Space, State: api.UploadState(u.State), Accepted: u.Accepted, Ended: u.Ended, Files: u.Files, Bytes: u.Bytes, Read: u.Read,
		Added: r.Added, Unchanged: r.Unchanged, Replaced: r.Replaced, Failed: r.Failed, Chunks: r.Chunks,
		Failures: wireFailures(r.Failures), LeftOut: wireFailures(r.LeftOut), Error: u.Error,
	}
}

func wireFailures(some []ingest.Failure) []api.Failure {
	out := []api.Failure{}
	for _, f := range some {
		out = append(out, api.Failure(f))
	}
	return out
}

func (b *Backend) upload(ctx context.Context, u api.Upload) (api.UploadStatus, error) {
	got, err := b.Inbox.Accept(ctx, u.Space, u.Key, func(take inbox.Take) error { return u.Each(take) })
	if err == nil && u.Wait {
		got, err = b.Inbox.Wait(ctx, got.ID)
	}
	if err != nil {
		return api.UploadStatus{}, err
	}
	return wireUpload(got), nil
}

func (b *Backend) uploads(_ context.Context, r api.Recent) (api.Uploads, error) {
	out := api.Uploads{Uploads: []api.UploadStatus{}}
	if _, err := b.Knowledge.Space(r.Space); err != nil {
		return out, err
	}
	for _, u := range b.Inbox.List(r.Space, r.Limit) {
		out.Uploads = append(out.Uploads, wireUpload(u))
	}
	return out, nil
}

func (b *Backend) uploadStatus(_ context.Context, o api.OneUpload) (api.UploadStatus, error) {
	if _, err := b.Knowledge.Space(o.Space); err != nil {
		return api.UploadStatus{}, err
	}
	u, err := b.Inbox.Get(o.Space, o.Upload)
	if err != nil {
		return api.UploadStatus{}, err
	}
	return wireUpload(u), nil
}

func (b *Backend) cancelUpload(_ context.Context, o api.OneUpload) (api.Nothing, error) {
	if _, err := b.Knowledge.Space(o.Space); err != nil {
		return api.Nothing{}, err
	}
	return api.Nothing{}, b.Inbox.Cancel(o.Space, o.Upload)
}
