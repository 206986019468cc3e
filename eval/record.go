package eval

import (
	"time"

	"github.com/percached/percached/api/client"
)

// Layout is the version of the files of a run.
const Layout = 1

// Run describes a run: the file run.json of its folder. Each unit is a file of its own.
type Run struct {
	Layout   int                  `json:"layout"`
	Dataset  string               `json:"dataset"`
	Began    time.Time            `json:"began"`
	Version  string               `json:"version"`
	Commit   string               `json:"commit,omitempty"`
	Machine  Machine              `json:"machine"`
	Model    client.AboutModel    `json:"model"`
	Embedder client.AboutEmbedder `json:"embedder"`
	Settings map[string]string    `json:"settings"` // of the daemon, without the defaults
	Plan     Plan                 `json:"plan"`
	Systems  []System             `json:"systems"`
	Users    []User               `json:"users"`

	// DataSum is a digest of the files and questions of all users.
	DataSum string `json:"data_sum,omitempty"`

	Skipped    []Skipped      `json:"skipped"`
	PassedOver map[string]int `json:"passed_over"` // unused fields, by name
}

// Machine is the machine that percached ran on.
type Machine struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	CPU         string `json:"cpu,omitempty"`
	CPUs        int    `json:"cpus"`
	MemoryBytes int64  `json:"memory_bytes,omitempty"`
}

// Plan says how a run asks. Two runs are comparable only if their plans are equal.
type Plan struct {
	Seed        uint64 `json:"seed"`
	Repeats     int    `json:"repeats"`
	Questions   int    `json:"questions"`          // of each user at most; 0: all
	Paraphrases bool   `json:"paraphrases"`        // are asked after the questions
	Distinct    bool   `json:"distinct,omitempty"` // ask questions with the same words once
	Warmup      int    `json:"warmup"`             // questions asked first, which do not count
	Rounds      int    `json:"rounds"`             // of prediction from the documents, before the questions
	Stride      int    `json:"stride"`             // questions predicted in a round
	LimitBytes  int64  `json:"limit_bytes"`        // of tensors, for each system and user
	// The tokens that a system may compute and generate while idle, for each user: before
	// the questions, and after each question. Both 0: as many as PerCache.
	IdleTokensBefore int  `json:"idle_tokens_before"`
	IdleTokensAfter  int  `json:"idle_tokens_after"`
	NoQuality        bool `json:"no_quality,omitempty"` // the model's answers mean nothing
	AtOnce           int  `json:"at_once,omitempty"`    // users at a time, each with a daemon of its own; 0: one
}

// User is one user of a run.
type User struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Files     int    `json:"files"`
	Questions int    `json:"questions"` // in the data
}

// Unit is one user's questions, asked once of every system.
type Unit struct {
	Repeat    int              `json:"repeat"` // from 1
	User      string           `json:"user"`
	Began     time.Time        `json:"began"`
	Seconds   float64          `json:"seconds"`
	Documents int              `json:"documents"`
	Chunks    int              `json:"chunks"`
	Unread    []client.Failure `json:"unread"`   // documents that percached could not read
	LeftOut   []client.Failure `json:"left_out"` // parts of documents, such as pictures
	Asked     []Asked          `json:"asked"`    // in the order of asking
	// Likeness is the cosine similarity of each question to those before it.
	Likeness [][]float64 `json:"likeness"`
	Results  []Result    `json:"results"` // one for each system of the run, in its order
}

// Asked is a question that was asked of every system.
type Asked struct {
	Number     int      `json:"number"`               // of the question in its set
	Paraphrase int      `json:"paraphrase,omitempty"` // 1: the first paraphrase; 0: the question itself
	Text       string   `json:"text"`
	Gold       []string `json:"gold,omitempty"`
	Located    bool     `json:"located"` // the document with the answer is known
}

// Result is what a system did in a unit.
type Result struct {
	System  string   `json:"system"`
	Before  Work     `json:"before"`  // idle work before the questions
	Answers []Answer `json:"answers"` // one for each of Unit.Asked
	// At the end of the unit:
	TensorBytes int64   `json:"tensor_bytes"`
	Slices      int     `json:"slices"`
	Entries     int     `json:"entries"`
	Evicted     int64   `json:"evicted"`
	Joules      float64 `json:"joules,omitempty"` // of idle work, if the machine reports it
}

// Work is idle work that a system did.
type Work struct {
	Seconds      float64           `json:"seconds"`
	Computed     int               `json:"computed_tokens"`
	Generated    int               `json:"generated_tokens"`
	BytesWritten int64             `json:"bytes_written"`
	Failed       int               `json:"failed"`
	Kinds        []client.KindWork `json:"kinds"`
	Reasons      []client.Reason   `json:"reasons,omitempty"`
}

// Answer is a system's answer to a question.
type Answer struct {
	Failure string `json:"failure,omitempty"` // why there is no answer; all other fields are then empty

	Text    string         `json:"text"`
	Outcome client.Outcome `json:"outcome,omitempty"`
	Origin  string         `json:"origin,omitempty"` // of the served entry: asked, predicted, ...
	Refused bool           `json:"refused"`          // the answer is that the documents do not say
	// Times as the client saw them, in milliseconds: until the first piece of the answer,
	// and until all of it.
	FirstMS float64 `json:"first_ms"`
	TotalMS float64 `json:"total_ms"`
	// Stages are the milliseconds of each stage in percached.
	Stages client.Times       `json:"stages,omitempty"`
	Reuse  client.Reuse       `json:"chunks"`
	Tokens client.TokenCounts `json:"tokens"`
	// Drafts is what drafts did, by source.
	Drafts []client.DraftUse `json:"drafts,omitempty"`
	// Chunks are the chunks in the answer's prompt, the most relevant first. Recalled says
	// whether the document with the right answer is among theirs.
	Chunks   []string `json:"rests_on,omitempty"`
	Recalled *bool    `json:"recalled,omitempty"` // absent: the document is unknown
	// Similarity is the similarity of the nearest stored question, if there was one.
	Similarity float64 `json:"similarity,omitempty"`

	Written     int64 `json:"written_bytes"` // tensors that this question wrote
	TensorBytes int64 `json:"tensor_bytes"`  // stored after it
	After       Work  `json:"after"`         // idle work after it
}

// Results are a run and its finished units.
type Results struct {
	Run   Run    `json:"run"`
	Units []Unit `json:"units"`
}

// System is a way to answer questions: percached with certain settings.
type System struct {
	Name  string `json:"name"`
	About string `json:"about"`
	// Of is the system that this one is a variant of; its setting Key has Value. All three
	// are empty if the system is not a variant.
	Of       string          `json:"of,omitempty"`
	Key      string          `json:"key,omitempty"` // threshold, stride, limit or case
	Value    float64         `json:"value,omitempty"`
	Settings client.Settings `json:"settings"` // of its spaces
	Idle     Idle            `json:"idle"`
	// Forgets says that the system does not store the answers to the questions it is
	// asked.
	Forgets bool `json:"forgets,omitempty"`
	// Poisoned says that the bank is filled with wrong answers before the questions. It is
	// a control: its quality must be 0.
	Poisoned bool `json:"poisoned,omitempty"`
	// Reference names the system that answers the same way without a cache.
	Reference string `json:"reference"`
	// Then changes the settings halfway through the questions.
	Then *client.Settings `json:"then,omitempty"`
}

// Idle is the idle work of a system.
type Idle string

// The kinds of idle work.
const (
	IdleNone    Idle = "none"
	IdlePredict Idle = "predict" // the paper's: prediction, population, conversion
	IdleAll     Idle = "all"     // all idle work of percached
)
