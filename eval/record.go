package eval

import (
	"time"

	"github.com/percached/percached/api/client"
)

// Layout is the version of what a run lays down.
const Layout = 1

// Run is what holds for all of a run: the file run.json of its folder. Each of
// its units is a file of its own.
type Run struct {
	Layout   int                  `json:"layout"`
	Dataset  string               `json:"dataset"`
	Began    time.Time            `json:"began"`
	Version  string               `json:"version"`
	Commit   string               `json:"commit,omitempty"`
	Machine  Machine              `json:"machine"`
	Model    client.AboutModel    `json:"model"`
	Embedder client.AboutEmbedder `json:"embedder"`
	Settings map[string]string    `json:"settings"` // of the daemon: those that are not the default
	Plan     Plan                 `json:"plan"`
	Systems  []System             `json:"systems"`
	Users    []User               `json:"users"`

	// DataSum is a digest of all users' files and questions.
	DataSum string `json:"data_sum,omitempty"`

	Skipped    []Skipped      `json:"skipped"`
	PassedOver map[string]int `json:"passed_over"` // fields, by name
}

// Machine is where percached ran.
type Machine struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	CPU         string `json:"cpu,omitempty"`
	CPUs        int    `json:"cpus"`
	MemoryBytes int64  `json:"memory_bytes,omitempty"`
}

// Plan says how a run is led. Two runs are comparable only if theirs are equal.
type Plan struct {
	Seed        uint64 `json:"seed"`
	Repeats     int    `json:"repeats"`
	Questions   int    `json:"questions"`          // of each user at the most; 0: all
	Paraphrases bool   `json:"paraphrases"`        // they follow the questions
	Distinct    bool   `json:"distinct,omitempty"` // of questions in the same words, one is asked
	Warmup      int    `json:"warmup"`             // questions asked before, that count for nothing
	Rounds      int    `json:"rounds"`             // of prediction from the documents, before the questions
	Stride      int    `json:"stride"`             // questions predicted in a round
	LimitBytes  int64  `json:"limit_bytes"`        // of tensors, for each system and user
	// IdleTokens is how many tokens a system may compute and generate while idle, for
	// each user: so many before the questions, and so many after each. 0: no bound.
	IdleTokensBefore int  `json:"idle_tokens_before"`
	IdleTokensAfter  int  `json:"idle_tokens_after"`
	NoQuality        bool `json:"no_quality,omitempty"` // the model's answers mean nothing
}

// User is one of the users of a run.
type User struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Files     int    `json:"files"`
	Questions int    `json:"questions"` // that the data has
}

// Unit is one user's questions asked of every system, once.
type Unit struct {
	Repeat    int              `json:"repeat"` // from 1
	User      string           `json:"user"`
	Began     time.Time        `json:"began"`
	Seconds   float64          `json:"seconds"`
	Documents int              `json:"documents"`
	Chunks    int              `json:"chunks"`
	Unread    []client.Failure `json:"unread"`   // documents that were not taken in
	LeftOut   []client.Failure `json:"left_out"` // parts of documents, such as pictures
	Asked     []Asked          `json:"asked"`    // in the order in which they were asked
	// Likeness is the cosine of each question's vector to those before it.
	Likeness [][]float64 `json:"likeness"`
	Results  []Result    `json:"results"` // one for each system of the run, in its order
}

// Asked is a question as it was asked of every system.
type Asked struct {
	Number     int      `json:"number"`               // of the question in its set
	Paraphrase int      `json:"paraphrase,omitempty"` // 1: the first one; 0: the question itself
	Text       string   `json:"text"`
	Gold       []string `json:"gold,omitempty"`
	Located    bool     `json:"located"` // it is known which document holds the answer
}

// Result is what a system did in a unit.
type Result struct {
	System  string   `json:"system"`
	Before  Work     `json:"before"`  // idle work before the questions
	Answers []Answer `json:"answers"` // one for each of Unit.Asked
	// In the end:
	TensorBytes int64   `json:"tensor_bytes"`
	Slices      int     `json:"slices"`
	Entries     int     `json:"entries"`
	Evicted     int64   `json:"evicted"`
	Joules      float64 `json:"joules,omitempty"` // of idle work, where the machine tells
}

// Work is idle work that was done.
type Work struct {
	Seconds      float64           `json:"seconds"`
	Computed     int               `json:"computed_tokens"`
	Generated    int               `json:"generated_tokens"`
	BytesWritten int64             `json:"bytes_written"`
	Failed       int               `json:"failed"`
	Kinds        []client.KindWork `json:"kinds"`
	Reasons      []client.Reason   `json:"reasons,omitempty"`
}

// Answer is what came of asking a system a question.
type Answer struct {
	Failure string `json:"failure,omitempty"` // why there is none; then it has no text, times or tokens

	Text    string         `json:"text"`
	Outcome client.Outcome `json:"outcome,omitempty"`
	Origin  string         `json:"origin,omitempty"` // of the entry that was served: asked, predicted, ...
	Refused bool           `json:"refused"`          // it says that the documents do not say
	// As the client saw it, in milliseconds: until the first piece of the answer was
	// there, and until all was.
	FirstMS float64 `json:"first_ms"`
	TotalMS float64 `json:"total_ms"`
	// Stages are the milliseconds of each stage within percached.
	Stages client.Times       `json:"stages,omitempty"`
	Reuse  client.Reuse       `json:"chunks"`
	Tokens client.TokenCounts `json:"tokens"`
	// Chunks are those that the answer rests on, most relevant first; Recalled says
	// whether the document with the right answer is among theirs.
	Chunks   []string `json:"rests_on,omitempty"`
	Recalled *bool    `json:"recalled,omitempty"` // absent: that document is not known
	// Similarity is that of the stored question that was nearest, if there was one.
	Similarity float64 `json:"similarity,omitempty"`

	Written     int64 `json:"written_bytes"` // tensors written by this question
	TensorBytes int64 `json:"tensor_bytes"`  // stored behind it
	After       Work  `json:"after"`         // idle work behind it
}

// Results are a run and those of its units that are done.
type Results struct {
	Run   Run    `json:"run"`
	Units []Unit `json:"units"`
}

// System is a way of answering questions: percached with some settings.
type System struct {
	Name  string `json:"name"`
	About string `json:"about"`
	// Of is the system that this one is a variant of, in which Key has Value; all
	// three are empty for a system in its own right.
	Of       string          `json:"of,omitempty"`
	Key      string          `json:"key,omitempty"` // threshold, stride or limit
	Value    float64         `json:"value,omitempty"`
	Settings client.Settings `json:"settings"` // of its spaces
	Idle     Idle            `json:"idle"`
	// Forgets says that the answers to what was asked are not kept.
	Forgets bool `json:"forgets,omitempty"`
	// Poisoned says that its bank is filled with wrong answers before the questions: a
	// control, which must show in quality.
	Poisoned bool `json:"poisoned,omitempty"`
	// Reference names the system that answers the same without any cache.
	Reference string `json:"reference"`
	// Then changes the settings in the middle of the questions.
	Then *client.Settings `json:"then,omitempty"`
}

// Idle is what work a system does while nobody asks.
type Idle string

// What idle work there is.
const (
	IdleNone    Idle = "none"
	IdlePredict Idle = "predict" // the paper's: prediction, population, conversion
	IdleAll     Idle = "all"     // whatever percached finds to do
)
