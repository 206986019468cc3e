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
	Name        string `json:"name"`
	Parameters  uint64 `json:"parameters"`
	Context     int    `json:"context"`
	Threads     int    `json:"threads"`
	KeyType     string `json:"key_type"`
	ValueType   string `json:"value_type"`
	Fingerprint string `json:"fingerprint"`
	NoSlices    string `json:"no_slices,omitempty"` // why tensors cannot be stored
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
