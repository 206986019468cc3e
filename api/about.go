package api

import "time"

// About says what answers here.
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
	NoSlices    string     `json:"no_slices,omitempty"` // why tensors cannot be stored
}

// ModelShape has the measures of the language model.
type ModelShape struct {
	Layers        int `json:"layers"`
	Width         int `json:"width"`
	Heads         int `json:"heads"`
	HeadsKV       int `json:"heads_kv"`
	HeadSize      int `json:"head_size"`
	FeedForward   int `json:"feed_forward"`
	Vocabulary    int `json:"vocabulary"`
	BytesPerToken int `json:"bytes_per_token"` // of K and V in a slice; 0: there are none
}

// AboutEmbedder describes the embedding model.
type AboutEmbedder struct {
	Name        string `json:"name"`
	Dimensions  int    `json:"dimensions"`
	Fingerprint string `json:"fingerprint"`
}

// Config lists all settings of the daemon.
type Config struct {
	Settings []Setting `json:"settings"`
}

// Setting is one setting of the daemon.
type Setting struct {
	Key        string `json:"key"`
	Value      string `json:"value"`
	Default    string `json:"default"`
	Source     string `json:"source"`     // default, file, environment, flag, runtime
	Changeable bool   `json:"changeable"` // while the daemon runs; until it ends
	About      string `json:"about"`
}

// ConfigChange gives settings new values, by key. All change or none.
type ConfigChange map[string]string

// Ready says whether questions can be answered, and how far loading is.
type Ready struct {
	Ready    bool    `json:"ready"`
	Stage    string  `json:"stage"`    // opening, loading, ready, closing
	Progress float64 `json:"progress"` // of the stage, 0 to 1
}

// Embedded are the vectors of texts.
type Embedded struct {
	Model   string
	Vectors [][]float32
}
