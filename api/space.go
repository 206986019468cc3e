package api

import "github.com/percached/percached"

// Space is one partition of the documents.
type Space struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`
	Documents int      `json:"documents"`
	Chunks    int      `json:"chunks"`
	Settings  Settings `json:"settings"` // what the space wants otherwise
	// Effective is what holds in the space. Its prompts are left out.
	Effective Settings `json:"effective"`
}

// Settings are what a space wants otherwise than the service; what is absent is
// the service's own.
type Settings struct {
	percached.Settings
	Prompts *Prompts `json:"prompts,omitempty"`
}

// Prompts are a space's own wordings of prompts; what is absent is built in.
type Prompts struct {
	Instructions *string `json:"instructions,omitempty"`
	Abstract     *string `json:"abstract,omitempty"`
	Knowledge    *string `json:"knowledge,omitempty"`
	History      *string `json:"history,omitempty"`
}

// Spaces lists spaces.
type Spaces struct {
	Spaces []Space `json:"spaces"`
}

// NewSpace is a space to be made.
type NewSpace struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"` // empty: emails
	Settings Settings `json:"settings"`
}

// InSpace names a space.
type InSpace struct {
	Space string `path:"space"`
}

// Forgetting names a space that is to go, or a document of one.
type Forgetting struct {
	InSpace
	Document percached.DocumentID `path:"document"` // zero: the whole space
	// CleanUp waits until the bytes have left the disk, too.
	CleanUp bool `query:"clean_up"`
}

// SpaceChange changes a space's settings. Merge is a JSON merge patch of them
// (RFC 7396): null takes a setting back. It has been checked to be an object.
type SpaceChange struct {
	InSpace
	Merge []byte `body:"merge"`
}

// Receipt counts what was forgotten.
type Receipt struct {
	Documents   int   `json:"documents"`
	Chunks      int   `json:"chunks"`
	Vectors     int   `json:"vectors"`
	Indexed     int   `json:"indexed"` // chunks in the index of words
	Slices      int   `json:"slices"`
	SliceBytes  int64 `json:"slice_bytes"`
	Entries     int   `json:"entries"`
	History     int   `json:"history"`
	Summaries   int   `json:"summaries"`
	Predictions int   `json:"predictions"`
	// CleanedUp says that no file of the data folder holds any of it any more.
	CleanedUp bool `json:"cleaned_up"`
}
