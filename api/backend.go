package api

import "context"

// backendCall is one operation of the backend. Its error has a kind of internal/base/fault.
type backendCall[In, Out any] = func(ctx context.Context, in In) (Out, error)

// Backend holds the operations that the server calls. The server calls them only after
// Options.Ready reports ready. Each func must be safe for concurrent use. The server has
// checked the form of the input and the rights of the caller.
type Backend struct {
	// Ask answers a question. It stops when ctx ends.
	Ask func(ctx context.Context, q AskRequest, l Listener) (Answer, error)
	// Complete continues a text; emit, if not nil, receives the first candidate in pieces.
	Complete func(ctx context.Context, t TypingRequest, emit func(text string) error) (Completion, error)
	Embed    backendCall[[]string, Embedded]
	About    backendCall[Nothing, About]
	Status   backendCall[Nothing, Status]

	Spaces      backendCall[Nothing, Spaces] // all spaces; the server filters them for the caller
	Space       backendCall[InSpace, Space]
	CreateSpace backendCall[NewSpace, Space] // Conflict if the space exists
	ChangeSpace backendCall[SpaceChange, Space]
	DeleteSpace backendCall[DeleteRequest, Receipt]
	ExportSpace backendCall[SpaceExport, Nothing]
	ImportSpace backendCall[SpaceImport, Space] // Conflict if the space exists and is not empty; with Update if it is no copy

	Upload         backendCall[Upload, UploadStatus]
	Uploads        backendCall[Page, Uploads]
	UploadStatus   backendCall[OneUpload, UploadStatus]
	CancelUpload   backendCall[OneUpload, Nothing]
	Documents      backendCall[DocumentPage, Documents]
	Document       backendCall[OneDocument, DocumentText]
	DeleteDocument backendCall[DeleteDocumentRequest, Receipt]
	Deletions      backendCall[InSpace, Deletions]

	Facts      backendCall[InSpace, Facts]
	AddFact    backendCall[AddFactRequest, Facts]
	Fact       backendCall[OneDocument, Fact]
	ChangeFact backendCall[ChangeFactRequest, Fact]
	DeleteFact backendCall[DeleteRequest, Receipt]

	History      backendCall[Page, Records]
	ClearHistory backendCall[ClearHistoryRequest, Cleared]

	Conversations      backendCall[Page, Conversations]
	CreateConversation backendCall[NewConversation, Conversation]
	Conversation       backendCall[TurnsPage, Conversation]
	AddTurns           backendCall[NewTurns, Conversation]
	DeleteConversation backendCall[OneConversation, Receipt]

	SearchDocuments backendCall[PassageSearch, Passages]
	Entries         backendCall[EntryPage, Entries]
	SearchEntries   backendCall[EntrySearch, Entries]
	Entry           backendCall[OneEntry, Entry]
	DeleteEntry     backendCall[OneEntry, Nothing]
	VetoEntry       backendCall[VetoRequest, Nothing]
	Export          backendCall[Export, Nothing]
	Import          backendCall[Import, Imported]
	Gate            backendCall[InSpace, GateReport]

	Cache           backendCall[Nothing, Cache]
	LimitCache      backendCall[CacheLimit, Cache]
	VerifyCache     backendCall[Nothing, Verified]
	ClearCache      backendCall[Nothing, Dropped]
	SpaceCache      backendCall[InSpace, SpaceCache]
	Tree            backendCall[Page, Tree]
	ClearSpaceCache backendCall[InSpace, Dropped]

	Predictions backendCall[InSpace, Predictions]
	Predict     backendCall[InSpace, Drained] // summarises, predicts and populates now

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
	Restore backendCall[Restore, Restored] // Conflict if documents exist and Force is false

	Config       backendCall[Nothing, Config]
	ChangeConfig backendCall[ConfigChange, Config]
}

// Nothing is the input of an operation without parameters, or the output of one without a
// reply.
type Nothing struct{}
