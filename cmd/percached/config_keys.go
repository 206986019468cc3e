package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

// key is one thing that can be set: in a file, by a variable of the environment,
// by a flag where a command has it, and while the daemon runs if it is live.
// docs/configuration.md lists all; a test compares.
type key struct {
	name  string
	live  bool
	flag  bool   // percached serve has it as a flag
	usual string // the default in words, where it depends on the machine
	about string
	of    func(*setup) field
}

// keyGroup is some keys that are told under one heading.
type keyGroup struct {
	heading string
	keys    []key
}

// keyGroups are all keys, in the order in which they are told.
func keyGroups() []keyGroup {
	return []keyGroup{
		{"Models", modelKeys()},
		{"Storage", storageKeys()},
		{"Documents and answers", answerKeys()},
		{"Idle work", idleKeys()},
		{"Serving", servingKeys()},
		{"Bounds", boundKeys()},
	}
}

// keys is the table of all keys.
func keys() []key {
	var all []key
	for _, g := range keyGroups() {
		all = append(all, g.keys...)
	}
	return all
}

// keyOf finds a key by its name.
func keyOf(name string) (key, bool) {
	all := keys()
	i := slices.IndexFunc(all, func(k key) bool { return k.name == name })
	if i < 0 {
		return key{}, false
	}
	return all[i], true
}

func modelKeys() []key {
	return []key{
		{
			name: "model", flag: true, about: "GGUF file of a language model; empty: the one that is built in",
			of: func(c *setup) field { return aText(&c.model) },
		},
		{
			name: "embed-model", flag: true, about: "GGUF file of an embedding model; empty: the one that is built in",
			of: func(c *setup) field { return aText(&c.embedModel) },
		},
		{
			name: "embed-context", about: "tokens of a text that the embedding model reads, at most as many as it was trained for; the rest is cut",
			of: func(c *setup) field { return anInt(&c.embedContext) },
		},
		{
			name: "embed-query-prefix", about: `text that goes before a question when it is embedded; auto: as the embedding model's family wants it. Write "..." to keep spaces at the end, \n for a new line`,
			of: func(c *setup) field { return aPrefix(&c.prefixes.query) },
		},
		{
			name: "embed-document-prefix", about: "text that goes before a chunk when it is embedded, as embed-query-prefix",
			of: func(c *setup) field { return aPrefix(&c.prefixes.document) },
		},
		{
			name: "kv", flag: true, about: "type of keys and values: f16, q8_0, q4_0",
			of: func(c *setup) field { return aText(&c.kv) },
		},
		{
			name: "threads", flag: true, usual: "one for each processor", about: "threads that compute at most; fewer do while other programs keep processors busy",
			of: func(c *setup) field { return anInt(&c.threads) },
		},
		{
			name: "gpu-layers", flag: true, about: "layers that a GPU computes; -1: as many as its memory holds, 0: none. Only a build with your own llama.cpp finds a GPU; the bundled one refuses more than 0",
			of: func(c *setup) field { return anInt(&c.gpuLayers) },
		},
		{
			name: "context", flag: true, about: "tokens of the context",
			of: func(c *setup) field { return anInt(&c.context) },
		},
		{
			name: "max-waiting", flag: true, about: "questions that the model works on or that wait for it. A token gets as many places as are still free, so half of them while no other token asks; further questions are answered 429. When fewer than a quarter of a token's places are left, chance decides which question gets one",
			of: func(c *setup) field { return anInt(&c.maxWaiting) },
		},
		{
			name: "engine-restarts", about: "how often within engine-period a model that failed inside is loaded anew",
			of: func(c *setup) field { return anInt(&c.revival.most) },
		},
		{
			name: "engine-period", about: "the time to which engine-restarts belongs",
			of: func(c *setup) field { return aDuration(&c.revival.within) },
		},
	}
}

func storageKeys() []key {
	return []key{
		{
			name: "data", flag: true, usual: "percached in the user's folder for data", about: "data folder",
			of: func(c *setup) field { return aText(&c.data) },
		},
		{
			name: "tensor-limit", live: true, flag: true, about: "bytes that stored tensors may take on disk",
			of: func(c *setup) field { return aSize(&c.limit) },
		},
		{
			name: "bank-limit", live: true, about: "bytes that the records of stored answers may take",
			of: func(c *setup) field { return aSize(&c.bankLimit) },
		},
		{
			name: "history-limit", about: "questions that a space remembers",
			of: func(c *setup) field { return anInt(&c.history) },
		},
		{
			name: "inbox-limit", about: "bytes that uploads may take on disk until they are taken in",
			of: func(c *setup) field { return aSize(&c.inboxLimit) },
		},
		{
			name: "upload-memory", usual: "a sixteenth of the machine's memory, 64MiB to 256MiB", about: "memory that documents may take while they are read, cut and indexed; further uploads wait, or are told to come back",
			of: func(c *setup) field { return aSize(&c.uploadMemory) },
		},
	}
}

func answerKeys() []key {
	return []key{
		{
			name: "chunk-words", flag: true, about: "words of a chunk, about",
			of: func(c *setup) field { return anInt(&c.chunkWords) },
		},
		{
			name: "fusion", flag: true, about: "how words and meaning are weighed: rrf (by rank) or weighted (by score)",
			of: func(c *setup) field { return aText(&c.fusion) },
		},
		{
			name: "placement", live: true, flag: true, about: "sequential or parallel; empty: what percached calibrate or idle work measured over your documents, before that what was measured for the model's family (parallel: the built-in model, SmolLM2, Gemma 3), else sequential; percached status tells which and why",
			of: func(c *setup) field { return aText(&c.placement) },
		},
		{
			name: "order", live: true, flag: true, about: "how chunks stand in a prompt: relevance or canonical",
			of: func(c *setup) field { return aText(&c.order) },
		},
		{
			name: "k", live: true, flag: true, about: "chunks of a prompt",
			of: func(c *setup) field { return anInt(&c.k) },
		},
		{
			name: "threshold", live: true, flag: true, about: "similarity from which on a stored answer may be served; negative: the embedding model's own",
			of: func(c *setup) field { return aNumber(&c.threshold) },
		},
		{
			name: "guard", live: true, flag: true, about: "hold stored answers against the whole gate; without it similarity alone decides",
			of: func(c *setup) field { return aSwitch(&c.guard) },
		},
		{
			name: "max-tokens", live: true, flag: true, about: "tokens of an answer",
			of: func(c *setup) field { return anInt(&c.maxTokens) },
		},
	}
}

// flags gives a command flags of some keys' names, which set c at once.
func (c *setup) flags(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		k, ok := keyOf(name)
		if !ok {
			panic(fmt.Sprintf("there is no key %q", name))
		}
		k.flagFor(cmd, k.of(c))
	}
}

// flagFor makes a key's flag of a command.
func (k key) flagFor(cmd *cobra.Command, f field) {
	flag := cmd.Flags().VarPF(flagValue{f}, k.name, "", k.about)
	if f.kind == "bool" {
		flag.NoOptDefVal = "true"
	}
}

// flagValue is a field as the flags want it.
type flagValue struct{ field }

func (v flagValue) String() string {
	if v.get == nil { // usage texts ask one that holds nothing
		return ""
	}
	return v.get()
}

func (v flagValue) Set(s string) error { return v.set(s) }

func (v flagValue) Type() string { return v.kind }
