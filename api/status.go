package api

import (
	"time"

	"github.com/percached/percached"
)

// Status summarises the state of percached.
type Status struct {
	Started    time.Time         `json:"started"`
	Questions  StatusQuestions   `json:"questions"` // since the start
	Stored     StatusStored      `json:"stored"`
	Waiting    StatusWaiting     `json:"waiting"`
	Idle       StatusIdle        `json:"idle"`
	Energy     StatusEnergy      `json:"energy"`
	Placements []StatusPlacement `json:"placements"`
	Budget     StatusBudget      `json:"budget"`
	Backup     *StatusBackup     `json:"backup,omitempty"` // nil: no backups in object storage
}

// StatusBackup says how far backups in object storage have come.
type StatusBackup struct {
	To         string     `json:"to"`
	Last       *time.Time `json:"last,omitempty"` // nil: none since the start
	LagSeconds float64    `json:"lag_seconds"`
	Error      string     `json:"error,omitempty"`
}

// StatusBudget says how much percached takes of the machine, and from what that follows.
type StatusBudget struct {
	Memory BudgetMemory `json:"memory"`
	Disk   BudgetDisk   `json:"disk"`
	// Sharing is nil if no daemon divides the memory.
	Sharing *BudgetSharing `json:"sharing,omitempty"`
	Changed string         `json:"changed,omitempty"` // since the start, as a sentence
}

// BudgetSharing is how the memory beside the model is divided.
type BudgetSharing struct {
	SliceBytes      int64  `json:"slice_bytes"`
	SliceLimitBytes int64  `json:"slice_limit_bytes"`
	SliceHits       int64  `json:"slice_hits"`
	TypedBytes      int64  `json:"typed_bytes"`
	Idle            bool   `json:"idle"` // idle work may run
	Scarce          bool   `json:"scarce"`
	Why             string `json:"why"`
}

// BudgetMemory is the length of the context. Pointers are nil where the machine does not say.
type BudgetMemory struct {
	TotalBytes  *int64 `json:"total_bytes,omitempty"`
	FreeBytes   *int64 `json:"free_bytes,omitempty"`
	WeightBytes int64  `json:"weight_bytes"`
	TokenBytes  int64  `json:"token_bytes"`
	MarginBytes int64  `json:"margin_bytes"`
	RoomBytes   *int64 `json:"room_bytes,omitempty"` // for keys and values
	UsedBytes   int64  `json:"used_bytes"`           // keys and values of the whole context
	Context     int    `json:"context"`
	From        string `json:"from"`
	Why         string `json:"why"`
	// Experts is nil if the model is no mixture of experts.
	Experts *BudgetExperts `json:"experts,omitempty"`
}

// BudgetExperts are the experts of a mixture of experts.
type BudgetExperts struct {
	Bytes         int64  `json:"bytes"`
	ResidentBytes *int64 `json:"resident_bytes,omitempty"`
	MappedBytes   int64  `json:"mapped_bytes"` // no memory is kept for these
}

// BudgetDisk is the limit of the stored tensors.
type BudgetDisk struct {
	FreeBytes    *int64 `json:"free_bytes,omitempty"`
	HeldBytes    int64  `json:"held_bytes"`
	ReserveBytes int64  `json:"reserve_bytes"`
	LimitBytes   int64  `json:"limit_bytes"`
	From         string `json:"from"`
	Why          string `json:"why"`
}

// StatusEnergy is the energy of percached's work, as far as the device says it. A figure
// that is not known is left out.
type StatusEnergy struct {
	Source string `json:"source"` // processor, battery, unknown
	Why    string `json:"why"`
	// IdleJoules is what idle work used in the last 30 days, in IdleSeconds of it whose
	// energy is known. IdleJoulesToday is since midnight.
	IdleJoules      *float64 `json:"idle_joules,omitempty"`
	IdleSeconds     *float64 `json:"idle_seconds,omitempty"`
	IdleJoulesToday *float64 `json:"idle_joules_today,omitempty"`
	// SavedJoules is the waiting time that idle work saved, at the power of the questions.
	SavedJoules *float64 `json:"saved_joules,omitempty"`
	// QuestionJoules is the mean of Questions whose energy is known, since the start.
	QuestionJoules *float64 `json:"question_joules,omitempty"`
	Questions      int      `json:"questions"`
}

// StatusQuestions counts questions and the work that was saved.
type StatusQuestions struct {
	AnswerHits   int     `json:"answer_hits"`
	VerifiedHits int     `json:"verified_hits"`
	TensorHits   int     `json:"tensor_hits"`
	Misses       int     `json:"misses"`
	Failed       int     `json:"failed"`
	ReusedTokens int     `json:"reused_tokens"`
	SavedSeconds float64 `json:"saved_seconds"` // estimate, compared with answers without stored data
}

// StatusStored counts the stored data of all spaces.
type StatusStored struct {
	Spaces      int   `json:"spaces"`
	Documents   int   `json:"documents"`
	Chunks      int   `json:"chunks"`
	Entries     int   `json:"entries"`
	Answered    int   `json:"answered"` // entries with an answer
	Stale       int   `json:"stale"`    // entries whose answer is outdated
	BankBytes   int64 `json:"bank_bytes"`
	BankLimit   int64 `json:"bank_limit"`
	Slices      int   `json:"slices"`
	TensorBytes int64 `json:"tensor_bytes"`
	TensorLimit int64 `json:"tensor_limit"`
	DiskBytes   int64 `json:"disk_bytes"` // allocated on disk for slices
}

// StatusWaiting counts pending work.
type StatusWaiting struct {
	Questions int `json:"questions"` // questions that wait for the model
	Uploads   int `json:"uploads"`
	Jobs      int `json:"jobs"`
	Parked    int `json:"parked"` // jobs set aside after repeated failures
}

// StatusIdle summarises background work.
type StatusIdle struct {
	State        string  `json:"state"`         // working, idle, waiting, paused
	SpentSeconds float64 `json:"spent_seconds"` // in the last 30 days
	SavedSeconds float64 `json:"saved_seconds"`
}

// StatusPlacement says which placement is used for a kind of documents, and why.
type StatusPlacement struct {
	Kind         string              `json:"kind"`
	Placement    percached.Placement `json:"placement"`
	From         string              `json:"from"` // measured, family, default, configuration, model
	Why          string              `json:"why"`
	Questions    int                 `json:"questions"` // questions in the comparison
	F1Sequential float64             `json:"f1_sequential"`
	F1Parallel   float64             `json:"f1_parallel"`
	Decided      time.Time           `json:"decided,omitzero"`
	Forms        []StatusForm        `json:"forms,omitempty"`
}

// StatusForm says how answers from packed tensors differ from exact ones.
type StatusForm struct {
	Form      percached.Form `json:"form"`
	State     string         `json:"state"` // pending, used, refused
	Questions int            `json:"questions"`
	Same      int            `json:"same"`
	Nats      float64        `json:"nats"`
}

// About describes the daemon and its models.
type About struct {
	Version  string        `json:"version"`
	Started  time.Time     `json:"started"`
	Model    AboutModel    `json:"model"`
	Embedder AboutEmbedder `json:"embedder"`
}

// AboutModel describes the language model.
type AboutModel struct {
	Name        string     `json:"name"`
	Parameters  uint64     `json:"parameters"`
	Shape       ModelShape `json:"shape"`
	Context     int        `json:"context"`
	Threads     int        `json:"threads"`
	KeyType     string     `json:"key_type"`
	ValueType   string     `json:"value_type"`
	Fingerprint string     `json:"fingerprint"`
	NoSlices    string     `json:"no_slices,omitempty"` // why tensors are not stored
	Server      string     `json:"server,omitempty"`    // the kind of server that computes; absent: percached
	// PrefixCache says that the server keeps the beginnings of prompts.
	PrefixCache bool `json:"prefix_cache,omitempty"`
}

// ModelShape is the architecture of the language model.
type ModelShape struct {
	Layers        int `json:"layers"`
	Width         int `json:"width"`
	Heads         int `json:"heads"`
	HeadsKV       int `json:"heads_kv"`
	HeadSize      int `json:"head_size"`
	FeedForward   int `json:"feed_forward"`
	Vocabulary    int `json:"vocabulary"`
	BytesPerToken int `json:"bytes_per_token"` // K and V bytes per token in a slice; 0: no slices
}

// AboutEmbedder describes the embedding model.
type AboutEmbedder struct {
	Name        string `json:"name"`
	Dimensions  int    `json:"dimensions"`
	Fingerprint string `json:"fingerprint"`
}

// Config lists the daemon's settings.
type Config struct {
	Settings []Setting `json:"settings"`
}

// Setting is one setting with its value and source.
type Setting struct {
	Key        string `json:"key"`
	Value      string `json:"value"`
	Default    string `json:"default"`
	Source     string `json:"source"`     // default, file, environment, flag, runtime
	Changeable bool   `json:"changeable"` // can be changed at run time, until the daemon stops
	About      string `json:"about"`
}

// ConfigChange maps keys to new values. Either all are applied or none.
type ConfigChange map[string]string

// Ready says whether percached accepts questions, and how far loading has progressed.
type Ready struct {
	Ready    bool    `json:"ready"`
	Stage    string  `json:"stage"`    // opening, loading, ready, closing
	Progress float64 `json:"progress"` // of the stage, 0 to 1
}

// Embedded holds the vectors of texts.
type Embedded struct {
	Model   string
	Vectors [][]float32
}
