package gguf

// Tokenizer is what the file says of its tokenizer. A token id that it does
// not name is -1.
type Tokenizer struct {
	Model  string // gpt2 (byte-level BPE), llama (SPM), bert (WPM), t5, ...
	Pre    string // how text is split before BPE
	Tokens []string
	Types  []int64 // nil when the file has none
	Scores int     // how many
	Merges []string

	BOS, EOS, EOT, Unknown, Padding, Separator, Class, Mask int64

	// AddBOS and AddEOS are nil when the file leaves it to the tokenizer.
	AddBOS, AddEOS, AddSpacePrefix *bool
}

// Architecture is general.architecture, empty when the file has none.
func (f *File) Architecture() string {
	s, _ := f.Str("general.architecture")
	return s
}

// Name is general.name.
func (f *File) Name() string {
	s, _ := f.Str("general.name")
	return s
}

// Key is the key of one of the architecture's own values: Key("block_count")
// of a llama is llama.block_count.
func (f *File) Key(suffix string) string { return f.Architecture() + "." + suffix }

// ChatTemplate is the model's own, empty when it has none.
func (f *File) ChatTemplate() string {
	s, _ := f.Str("tokenizer.chat_template")
	return s
}

// Tokenizer gathers the tokenizer's metadata. Its slices must not be changed.
func (f *File) Tokenizer() Tokenizer {
	const p = "tokenizer.ggml."
	id := func(name string) int64 {
		n, ok := f.Uint(p + name + "_token_id")
		if !ok || n >= 1<<31 {
			return -1
		}
		return int64(n)
	}
	flag := func(name string) *bool {
		if v, ok := f.Bool(p + name); ok {
			return &v
		}
		return nil
	}
	t := Tokenizer{
		Scores: f.Len(p + "scores"),
		BOS:    id("bos"), EOS: id("eos"), EOT: id("eot"), Unknown: id("unknown"), Padding: id("padding"),
		Separator: id("seperator"), // spelt so in every file
		Class:     id("cls"), Mask: id("mask"),
		AddBOS: flag("add_bos_token"), AddEOS: flag("add_eos_token"), AddSpacePrefix: flag("add_space_prefix"),
	}
	t.Model, _ = f.Str(p + "model")
	t.Pre, _ = f.Str(p + "pre")
	t.Tokens, _ = f.Strs(p + "tokens")
	t.Merges, _ = f.Strs(p + "merges")
	t.Types, _ = f.Ints(p + "token_type")
	return t
}
