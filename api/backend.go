package api

import "context"

// do is something that the daemon does: an error has a kind of internal/base/fault.
type do[In, Out any] = func(ctx context.Context, in In) (Out, error)

// Backend is what stands behind the interface. Nothing of it is called before
// Options.Ready says that it can be. Its funcs may be called at once from many
// goroutines; what they are given has been checked for its form, and the caller
// for their right to it.
type Backend struct {
	// Ask answers a question, and stops when ctx ends.
	Ask    func(ctx context.Context, q Asked, l Listener) (Answer, error)
	Embed  do[[]string, Embedded]
	About  do[Nothing, About]
	Status do[Nothing, Status]

	Spaces      do[Nothing, Spaces] // all; who sees which is not the backend's business
	Space       do[InSpace, Space]
	CreateSpace do[NewSpace, Space] // Conflict: it is there
	ChangeSpace do[SpaceChange, Space]
	DeleteSpace do[Forgetting, Receipt]

	Upload         do[Upload, UploadStatus]
	Uploads        do[Recent, Uploads]
	UploadStatus   do[OneUpload, UploadStatus]
	CancelUpload   do[OneUpload, Nothing]
	Documents      do[DocumentPage, Documents]
	Document       do[OneDocument, DocumentText]
	DeleteDocument do[Forgetting, Receipt]

	History      do[Recent, Records]
	ClearHistory do[Clearing, Cleared]

	Entries       do[Page, Entries]
	SearchEntries do[EntrySearch, Entries]
	Entry         do[OneEntry, Entry]
	DeleteEntry   do[OneEntry, Nothing]
	VetoEntry     do[VetoIn, Nothing]
	Export        do[Export, Nothing]
	Import        do[Import, Imported]

	Cache           do[Nothing, Cache]
	LimitCache      do[CacheLimit, Cache]
	VerifyCache     do[Nothing, Verified]
	ClearCache      do[Nothing, Dropped]
	SpaceCache      do[InSpace, SpaceCache]
	Tree            do[Recent, Tree]
	ClearSpaceCache do[InSpace, Dropped]

	Predictions do[InSpace, Predictions]
	Predict     do[InSpace, Drained] // now: sums up, predicts, populates

	Idle     do[Nothing, Idle]
	Device   do[Device, Idle]
	Queue    do[Nothing, Queue]
	RetryJob do[OneJob, Nothing]
	Ledger   do[LedgerIn, Ledger]
	Pause    do[Nothing, Idle]
	Resume   do[Nothing, Idle]
	Drain    do[DrainIn, Drained]

	ForgetPlacements do[Nothing, Nothing]

	Backup  do[Backup, Nothing]
	Restore do[Restore, Restored] // Conflict: something is there, and nothing forces it

	Config       do[Nothing, Config]
	ChangeConfig do[ConfigChange, Config]
}
