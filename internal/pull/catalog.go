package pull

import "slices"

// Entry is a model of the short list.
type Entry struct {
	Name    string
	About   string
	Licence string
	Bytes   int64 // about
	Embeds  bool  // it makes embeddings; others write answers
	repo    string
	file    string
}

// Catalog is the short list: small models that the engine runs and whose tensors it
// can store. It has no hashes: the first that comes is noted, and not confirmed.
func Catalog() []Entry {
	const mb = 1_000_000
	return []Entry{
		{
			Name: "smollm2-135m-instruct", About: "English; the smallest that writes sentences", Licence: "Apache-2.0", Bytes: 145 * mb,
			repo: "bartowski/SmolLM2-135M-Instruct-GGUF", file: "SmolLM2-135M-Instruct-Q8_0.gguf",
		},
		{
			Name: "smollm2-360m-instruct", About: "English; for old machines and phones", Licence: "Apache-2.0", Bytes: 386 * mb,
			repo: "HuggingFaceTB/SmolLM2-360M-Instruct-GGUF", file: "smollm2-360m-instruct-q8_0.gguf",
		},
		{
			Name: "qwen2.5-0.5b-instruct", About: "many languages; a good first one", Licence: "Apache-2.0", Bytes: 491 * mb,
			repo: "Qwen/Qwen2.5-0.5B-Instruct-GGUF", file: "qwen2.5-0.5b-instruct-q4_k_m.gguf",
		},
		{
			Name: "qwen2.5-0.5b-instruct-q8", About: "the same with finer weights", Licence: "Apache-2.0", Bytes: 676 * mb,
			repo: "Qwen/Qwen2.5-0.5B-Instruct-GGUF", file: "qwen2.5-0.5b-instruct-q8_0.gguf",
		},
		{
			Name: "llama-3.2-1b-instruct", About: "eight languages", Licence: "Llama 3.2 Community", Bytes: 808 * mb,
			repo: "bartowski/Llama-3.2-1B-Instruct-GGUF", file: "Llama-3.2-1B-Instruct-Q4_K_M.gguf",
		},
		{
			Name: "qwen2.5-1.5b-instruct", About: "many languages; answers best of these", Licence: "Apache-2.0", Bytes: 1117 * mb,
			repo: "Qwen/Qwen2.5-1.5B-Instruct-GGUF", file: "qwen2.5-1.5b-instruct-q4_k_m.gguf",
		},
		{
			Name: "bge-small-en-v1.5", About: "English, 384 numbers", Licence: "MIT", Bytes: 37 * mb, Embeds: true,
			repo: "CompendiumLabs/bge-small-en-v1.5-gguf", file: "bge-small-en-v1.5-q8_0.gguf",
		},
		{
			Name: "nomic-embed-text-v1.5", About: "English, 768 numbers, longer texts", Licence: "Apache-2.0", Bytes: 146 * mb, Embeds: true,
			repo: "nomic-ai/nomic-embed-text-v1.5-GGUF", file: "nomic-embed-text-v1.5.Q8_0.gguf",
		},
	}
}

// Suggested is the largest model of the short list that writes answers, is free to
// use, and takes at most a quarter of the memory.
func Suggested(memory int64) Entry {
	var best Entry
	for _, e := range Catalog() {
		free := e.Licence == "Apache-2.0" || e.Licence == "MIT"
		if !e.Embeds && free && (best.Name == "" || e.Bytes > best.Bytes && e.Bytes <= memory/4) {
			best = e
		}
	}
	return best
}

// Listed finds a model of the short list.
func Listed(name string) (Entry, bool) {
	all := Catalog()
	i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return Entry{}, false
	}
	return all[i], true
}

// Source is the key under which its hash is noted.
func (e Entry) Source() string { return e.ref().key() }

func (e Entry) ref() ref { return newRef(e.repo, e.file, mainRev) }
