package api

import "context"

// do is something that the daemon does: an error has a kind of internal/base/fault.
type backendCall[In, Out any] = func(ctx context.Context, in In) (Out, error)

// Backend is what stands behind the interface. Nothing of it is called before
// Options.Ready says that it can be. Its funcs may be called at once from many
// goroutines; what they are given has been checked for its form, and the caller
// for their right to it.
type Backend struct {
	// Ask answers a question, and stops when ctx ends.
	Ask    func(ctx context.Context, q AskRequest, l Listener) (Answer, error)
	Embed  backendCall[[]string, Embedded]
	About  backendCall[Nothing, About]
	Status backendCall[Nothing, Status]

	Spaces      backendCall[Nothing, Spaces] // all; who sees which is not the backend's business
	Space       backendCall[InSpace, Space]
	CreateSpace backendCall[NewSpace, Space] // Conflict: it is there
	ChangeSpace backendCall[SpaceChange, Space]
	DeleteSpace backendCall[DeleteRequest, Receipt]

	Upload         backendCall[Upload, UploadStatus]
	Uploads        backendCall[Recent, Uploads]
	UploadStatus   backendCall[OneUpload, UploadStatus]
	CancelUpload   backendCall[OneUpload, Nothing]
	Documents      backendCall[DocumentPage, Documents]
	Document       backendCall[OneDocument, DocumentText]
	DeleteDocument backendCall[DeleteRequest, Receipt]

	History      backendCall[Recent, Records]
	ClearHistory backendCall[ClearHistoryRequest, Cleared]

	Entries       backendCall[Page, Entries]
	SearchEntries backendCall[EntrySearch, Entries]
	Entry         backendCall[OneEntry, Entry]
	DeleteEntry   backendCall[OneEntry, Nothing]
	VetoEntry     backendCall[VetoRequest, Nothing]
	Export        backendCall[Export, Nothing]
	Import        backendCall[Import, Imported]

	Cache           backendCall[Nothing, Cache]
	LimitCache      backendCall[CacheLimit, Cache]
	VerifyCache     backendCall[Nothing, Verified]
	ClearCache      backendCall[Nothing, Dropped]
	SpaceCache      backendCall[InSpace, SpaceCache]
	Tree            backendCall[Recent, Tree]
	ClearSpaceCache backendCall[InSpace, Dropped]

	Predictions backendCall[InSpace, Predictions]
	Predict     backendCall[InSpace, Drained] // now: sums up, predicts, populates

	Idle     backendCall[Nothing, Idle]
	Device   backendCall[Device, Idle]
	Queue    backendCall[Nothing, Queue]
	RetryJob backendCall[OneJob, Nothing]
	Ledger   backendCall[LedgerQuery, Ledger]
	Pause    backendCall[Nothing, Idle]
	Resume   backendCall[Nothing, Idle]
	Drain    backendCall[DrainRequest, Drained]

	ForgetPlacements backendCall[Nothing, Nothing]

	Backup  backendCall[Backup, Nothing]
	Restore backendCall[Restore, Restored] // Conflict: something is there, and nothing forces it

	Config       backendCall[Nothing, Config]
	ChangeConfig backendCall[ConfigChange, Config]
}

// Nothing asks for nothing in particular.
type Nothing struct{}
