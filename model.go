package percached

import "time"

// ModelInfo describes an engine's model.
type ModelInfo struct {
	Name         string // from the model file
	Architecture string
	Parameters   uint64
	WeightBytes  uint64
	Layers       int
	Width        int
	Heads        int
	HeadsKV      int
	HeadSize     int // numbers of a key
	FeedForward  int // numbers in the feed-forward part of a layer, in the experts that a token uses
	Vocabulary   int
	TrainContext int // positions the model was trained for
	Context      int // maximum tokens of a prompt and its answer
	Split        int // tokens computed in one batch
	Threads      int
	KeyType      string // type of stored keys: f16, q8_0, q4_0
	ValueType    string
	FlashAttn    bool // as resolved
	Window       int  // maximum tokens that some layers see; 0: all layers see all
	GPULayers    int  // layers computed on a GPU, including the output as one; 0: all on the CPU
	// Fingerprint identifies everything that affects the tensors: slices with equal
	// fingerprints are interchangeable, others are not.
	Fingerprint string
	// BytesPerToken is the size of one token's K and V in a slice; 0 if slices cannot be
	// stored. A recurrent model's slices have a fixed size; for it this is a token's
	// share in a chunk of 128.
	BytesPerToken int
	// NoSlices is why slices cannot be stored; empty if they can.
	NoSlices string
	// NoParallel is why chunks cannot be computed separately; empty if they can.
	NoParallel string
	// NoDrafts is why drafts are not checked; empty if they are.
	NoDrafts string
	// NoTokens is why Tokenize estimates; empty if it returns the model's tokens. Usage then
	// counts what the model counted.
	NoTokens string
	// NoLogits is why there are no scores; empty if there are.
	NoLogits string
	// NoGrammar is why answers cannot be held to a grammar; empty if they can.
	NoGrammar string
	// Server is the kind of server that computes; empty: this process does.
	Server string
	// PrefixCache says that the server keeps the beginnings of prompts, so that a prompt is
	// computed from where it differs from those before. Usage.Reused counts what it kept, and
	// Prefill has it keep a prompt.
	PrefixCache bool
	Chat        ChatFormat
}

// Large says that the model follows prompts that ask for more than an answer: lists of
// questions, summaries. Of the smaller ones measured, none did (docs/prediction.md,
// docs/conversations.md). A server's model of unknown size counts as large.
func (m *ModelInfo) Large() bool {
	return m.Parameters >= 1e9 || m.Parameters == 0 && m.Server != ""
}

// EmbedderInfo describes an embedder.
type EmbedderInfo struct {
	Name         string
	Architecture string
	Dimensions   int
	MaxTokens    int    // longer texts are cut
	Pooling      string // mean, cls, last
	// QueryPrefix and DocumentPrefix are the model's prefixes for questions and
	// documents. Embed adds neither.
	QueryPrefix, DocumentPrefix string
	// Fingerprint identifies everything that affects the vectors, including the prefixes.
	// Vectors with different fingerprints cannot be compared.
	Fingerprint string
}

// ChatFormat is a model's text around a prompt, split where the text of documents and
// questions goes.
type ChatFormat struct {
	Name     string // chatml, llama3, gemma, ...; plain if the model has no template
	System   string // before the instructions
	Question string // between the instructions (with all chunks) and the question
	Answer   string // between the question and the answer
	Lone     string // before a question without instructions
	Tools    bool   // the template knows tools, so the model was trained to call them
	// NoOpening says that a reply cannot be begun for the model: nothing may follow Answer.
	NoOpening bool
	// Stop are texts with which a model without turns would continue by itself: an answer
	// ends before them.
	Stop []string
}

// Plain reports whether the model has no turns: it continues text.
func (f ChatFormat) Plain() bool { return f.Name == "plain" }

// Usage counts tokens of one run. Prompt = Reused + Computed.
type Usage struct {
	Prompt    int // in total
	Reused    int // restored from slices
	Computed  int
	Generated int
}

// Times is where the time of one run went.
type Times struct {
	Queue      time.Duration // waiting for the engine
	Tokenize   time.Duration
	Restore    time.Duration // checking and loading slices
	Prefill    time.Duration // computing prompt tokens
	Capture    time.Duration // copying slices out
	FirstToken time.Duration // from the start of work to the first token
	Decode     time.Duration // after the first token
}

// Finish is why an answer ended.
type Finish string

// The reasons.
const (
	FinishEnd    Finish = "end"    // the model ended it
	FinishStop   Finish = "stop"   // a stop string appeared
	FinishLength Finish = "length" // the answer has MaxTokens
	FinishLoop   Finish = "loop"   // the model repeated itself; the repetition is removed
	// FinishThought: the model was still thinking when it ended or reached MaxTokens. Its
	// thoughts are removed, so the text may be empty.
	FinishThought Finish = "thought"
)

// Failed reports whether the text is not an answer and must not be stored.
func (f Finish) Failed() bool { return f == FinishLoop || f == FinishThought }

// Result is the result of one prompt. With an error it holds what was captured before.
type Result struct {
	Text   string
	Finish Finish
	// Slices are the captured slices by the index of the prompt's segment; nil where none
	// was requested or possible.
	Slices []*Slice
	// Logits are the scores after the prompt's last token, if requested.
	Logits []float32
	Usage  Usage
	Times  Times
	// Verified says that the first draft, a DraftStored, is the whole answer.
	Verified bool
	Drafts   []DraftUse // of the sources that were used
}
