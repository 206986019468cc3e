package percached

import "time"

// ModelInfo is what an engine says of itself.
type ModelInfo struct {
	Name         string // as the model file calls itself
	Architecture string
	Parameters   uint64
	WeightBytes  uint64
	Layers       int
	Width        int
	Heads        int
	HeadsKV      int
	HeadSize     int // numbers of a key
	FeedForward  int // numbers within the feed-forward part of a layer, of the experts that a token goes to
	Vocabulary   int
	TrainContext int // positions the model was trained for
	Context      int // tokens one prompt and its answer may take
	Split        int // tokens computed at a time
	Threads      int
	KeyType      string // how keys are stored: f16, q8_0, q4_0
	ValueType    string
	FlashAttn    bool // as resolved
	Window       int  // tokens that some layers see at most; 0: all layers see all
	GPULayers    int  // layers that a GPU computes, the output counted as one more; 0: the CPU computes all
	// Fingerprint names everything that shapes the tensors: slices of one
	// fingerprint are exchangeable, slices of two are not.
	Fingerprint string
	// BytesPerToken is what K and V of one token take in a slice; 0 when
	// slices cannot be stored. Of a recurrent model, whose slices have one size
	// however long they are, it is that of a token in a chunk of 128.
	BytesPerToken int
	// NoSlices says why slices cannot be stored; empty when they can.
	NoSlices string
	// NoParallel says why chunks cannot be computed apart; empty when they can.
	NoParallel string
	Chat       ChatFormat
}

// EmbedderInfo is what an embedder says of itself.
type EmbedderInfo struct {
	Name         string
	Architecture string
	Dimensions   int
	MaxTokens    int    // longer texts are cut
	Pooling      string // mean, cls, last
	// QueryPrefix and DocumentPrefix are what the model wants before a question and
	// before what questions are to find. Embed adds neither.
	QueryPrefix, DocumentPrefix string
	// Fingerprint names everything that shapes the vectors, the prefixes included:
	// those of two fingerprints cannot be compared.
	Fingerprint string
}

// ChatFormat is the frame a model wants around a prompt, cut at the places
// where the text of documents and questions goes.
type ChatFormat struct {
	Name     string // chatml, llama3, gemma, ...; plain when the model names none
	System   string // before the instructions
	Question string // between the instructions (with all chunks) and the question
	Answer   string // between the question and the answer
	Lone     string // before a question that has no instructions
	// Stop are texts with which a model that has no turns goes on by itself: an
	// answer ends before them.
	Stop []string
}

// Plain says that the model has no turns of its own: it continues text.
func (f ChatFormat) Plain() bool { return f.Name == "plain" }

// Usage counts tokens of one run. Prompt = Reused + Computed.
type Usage struct {
	Prompt    int // in all
	Reused    int // restored from slices
	Computed  int
	Generated int
}

// Times says where the time of one run went.
type Times struct {
	Queue      time.Duration // waiting for the engine
	Tokenize   time.Duration
	Restore    time.Duration // slices checked and loaded
	Prefill    time.Duration // prompt tokens computed
	Capture    time.Duration // slices copied out
	FirstToken time.Duration // from the start of work to the first token chosen
	Decode     time.Duration // behind the first token
}

// Finish says why an answer ended.
type Finish string

// The reasons.
const (
	FinishEnd    Finish = "end"    // the model ended it
	FinishStop   Finish = "stop"   // a stop string came
	FinishLength Finish = "length" // MaxTokens was reached
	FinishLoop   Finish = "loop"   // the model repeated itself; the repetition is cut off
	// FinishThought: the model was still thinking when it ended or MaxTokens was
	// reached; its thoughts are cut out, so there may be no text.
	FinishThought Finish = "thought"
)

// Failed says that what was written is no answer, and not to be stored.
func (f Finish) Failed() bool { return f == FinishLoop || f == FinishThought }

// Result is what came of one prompt. With an error it holds what had been
// captured before.
type Result struct {
	Text   string
	Finish Finish
	// Slices are the captured ones, by index of the prompt's segment; nil
	// where none was asked for or none could be had.
	Slices []*Slice
	// Logits are the scores behind the prompt's last token, if asked for.
	Logits []float32
	Usage  Usage
	Times  Times
}
