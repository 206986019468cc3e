package eval

// Set is documents and the questions about them.
type Set struct {
	Files     []File
	Questions []Question
	Skipped   []Skipped
	// PassedOver counts by name the fields of questions that mean nothing here.
	PassedOver map[string]int
}

// File is a file that percached is to take in.
type File struct {
	Name string // what it goes by: below the folder of documents, with slashes
	Path string // where it lies
	Size int64
}

// Question is one question, and what is known of it.
type Question struct {
	Number      int // its line in the file
	Text        string
	Gold        []string // answers that are right; none: not known
	Paraphrases []string
	Document    string // what the name of the file with the answer ends with; empty: not known
}

// Skipped is something that was not read.
type Skipped struct {
	Where  string `json:"where"`
	Reason string `json:"reason"`
	Usual  bool   `json:"usual,omitempty"` // percached add does not look at it either
}
