package config

import (
	"fmt"
	"sync"

	"github.com/spf13/cobra"
)

// Key is one row of the table: something that can be set.
type Key struct {
	Name  string
	Live  bool   // it can change while the daemon runs
	Flag  bool   // percached serve has a flag for it
	Usual string // the default in words, where it depends on the machine
	About string
	Of    func(*Config) Value
}

// Group is the keys under one heading.
type Group struct {
	Heading string
	Keys    []Key
}

// Groups is the table, in the order of docs/configuration.md.
func Groups() []Group {
	return []Group{
		{"Models", []Key{
			{
				Name: "engine", Flag: true, About: "What computes: llamacpp, in this process; or openai, an OpenAI-compatible server at engine-url",
				Of: func(c *Config) Value { return text(&c.EngineKind) },
			},
			{Name: "engine-url", Flag: true, About: "Address of the server, such as http://127.0.0.1:8080. percached sends it questions and documents, and connects to no other address", Of: func(c *Config) Value { return text(&c.EngineURL) }},
			{Name: "engine-key-file", Flag: true, About: "File whose first line is the server's key", Of: func(c *Config) Value { return text(&c.EngineKeyFile) }},
			{
				Name: "insecure-engine", About: "Send questions, documents and the key without TLS to a server on another machine",
				Of: func(c *Config) Value { return boolean(&c.PlainEngine) },
			},
			{
				Name: "embed-url", Flag: true, About: "Address of an OpenAI-compatible server that embeds with embed-model; empty: percached embeds. The key of engine-key-file is sent there only if it is the address of engine-url, or if there is no engine-url",
				Of: func(c *Config) Value { return text(&c.EmbedURL) },
			},
			{Name: "model", Flag: true, About: "GGUF file of the language model, or its name on the server of engine-url (default: the built-in model, or the server's only one)", Of: func(c *Config) Value { return text(&c.Model) }},
			{Name: "embed-model", Flag: true, About: "GGUF file of the embedding model, or its name on the server of embed-url (default: the built-in model, or the server's only one)", Of: func(c *Config) Value { return text(&c.EmbedModel) }},
			{
				Name: "embed-query-prefix", About: `Text before each question that is embedded; auto takes the prefix of the model's family. Quote it to keep a space at the end; \n is a new line`,
				Of: func(c *Config) Value { return prefix(&c.QueryPrefix) },
			},
			{Name: "embed-document-prefix", About: "Text before each chunk that is embedded, as for embed-query-prefix", Of: func(c *Config) Value { return prefix(&c.DocPrefix) }},
			{Name: "kv", Flag: true, About: "Type of keys and values: f16, q8_0 or q4_0", Of: func(c *Config) Value { return text(&c.KV) }},
			{
				Name: "threads", Flag: true, Usual: "one for each processor", About: "Maximum number of compute threads; percached uses fewer while other programs need the processors",
				Of: func(c *Config) Value { return integer(&c.Threads) },
			},
			{
				Name: "gpu-layers", Flag: true, About: "Layers computed on a GPU; -1: as many as fit. Needs a build with an installed llama.cpp (make build LLAMA=system)",
				Of: func(c *Config) Value { return integer(&c.GPULayers) },
			},
			{Name: "context", Flag: true, About: "Context length in tokens; auto: what the model, the memory and the speed of this machine allow (percached status --budget shows it)", Of: func(c *Config) Value { return orAuto(&c.Context, integer(&c.Context)) }},
		}},
		{"Storage", []Key{
			{Name: "data", Flag: true, Usual: "percached in the user's data folder", About: "Data folder", Of: func(c *Config) Value { return text(&c.Data) }},
			{
				Name: "key-file", Flag: true, About: "File with the passphrase of an encrypted data folder (default: the systemd credential percached-key, or a question at the terminal)",
				Of: func(c *Config) Value { return text(&c.KeyFile) },
			},
			{Name: "tensor-limit", Live: true, Flag: true, About: "Maximum disk space for attention tensors; auto: a quarter of the disk space that is free or already used for them, at most 16GiB", Of: func(c *Config) Value { return orAuto(&c.TensorLimit, size(&c.TensorLimit)) }},
			{Name: "bank-limit", Live: true, About: "Maximum disk space for stored answers", Of: func(c *Config) Value { return size(&c.BankLimit) }},
		}},
		{"Backup to object storage", []Key{
			{
				Name: "backup-to", About: "Address of backups in S3-compatible object storage: s3://BUCKET/PREFIX?endpoint=https://HOST; empty: the daemon makes no backups by itself",
				Of: func(c *Config) Value { return text(&c.Backup.To) },
			},
			{
				Name: "backup-key-file", About: "File with the credentials for backup-to: the access key in the first line, the secret key in the second (default: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)",
				Of: func(c *Config) Value { return text(&c.Backup.KeyFile) },
			},
			{Name: "backup-every", About: "Time between two backups", Of: func(c *Config) Value { return duration(&c.Backup.Every) }},
			{
				Name: "backup-keep", About: "Time for which backups are kept, and after which what you deleted has left them; 0s: for ever",
				Of: func(c *Config) Value { return duration(&c.Backup.Keep) },
			},
		}},
		{"Documents and answers", []Key{
			{Name: "chunk-words", Flag: true, About: "Approximate chunk size in words", Of: func(c *Config) Value { return integer(&c.ChunkWords) }},
			{
				Name: "placement", Live: true, Flag: true, About: "How chunks are placed in the prompt: sequential, parallel, or empty for the one that serves the model best (percached status shows which and why)",
				Of: func(c *Config) Value { return text(&c.Placement) },
			},
			{
				Name: "max-changed", Live: true, Flag: true, About: "Maximum share (0-1) of answers that packed tensors may change, as measured on the user's documents; 0: use exact tensors alone",
				Of: func(c *Config) Value { return number(&c.MaxChanged) },
			},
			{Name: "k", Live: true, Flag: true, About: "Chunks in a prompt", Of: func(c *Config) Value { return integer(&c.K) }},
			{
				Name: "threshold", Live: true, Flag: true, About: "Minimum similarity (0-1) of a stored question whose answer may be returned; negative: the embedding model's own",
				Of: func(c *Config) Value { return number(&c.Threshold) },
			},
			{
				Name: "max-wrong", Live: true, Flag: true, About: "Maximum share (0-1) of wrong answers among stored answers returned for a question in other words; 0: return only exact repeats and questions whose wordings differ in nothing",
				Of: func(c *Config) Value { return number(&c.MaxWrong) },
			},
			{Name: "max-tokens", Live: true, Flag: true, About: "Maximum length of an answer in tokens", Of: func(c *Config) Value { return integer(&c.MaxTokens) }},
			{
				Name: "memory", Live: true, About: "Find facts about the user in questions, and use facts only for questions that need them",
				Of: func(c *Config) Value { return boolean(&c.Memory) },
			},
			{
				Name: "trajectories", Live: true, About: "Keep the answer, the decision about facts and the user's verdict of each question in the history, for percached history export",
				Of: func(c *Config) Value { return boolean(&c.Trajectories) },
			},
			{
				Name: "keep", Live: true, Flag: true, About: "Time after which the daemon deletes questions, answers and conversations that nobody used since, such as 90d; 0s: never",
				Of: func(c *Config) Value { return duration(&c.Keep) },
			},
		}},
		{"Idle work", []Key{
			{Name: "idle-after", Live: true, About: "Time without questions before idle work starts", Of: func(c *Config) Value { return duration(&c.Idle.After) }},
			{
				Name: "windows", Live: true, About: "When idle work may run: CRON LENGTH; CRON LENGTH, such as 0 1 * * * 4h; empty: always",
				Of: func(c *Config) Value { return windows(&c.Idle.Windows) },
			},
			{
				Name: "budget-compute", Live: true, About: "Maximum computing time of idle work in a window, or in a day if there are no windows",
				Of: func(c *Config) Value { return duration(&c.Idle.Compute) },
			},
			{Name: "charging-only", Live: true, About: "Idle work waits until a device with a battery is charging", Of: func(c *Config) Value { return boolean(&c.Idle.Charging) }},
			{Name: "min-battery", Live: true, About: "Minimum battery level (0-1) for idle work while unplugged, if charging-only is false", Of: func(c *Config) Value { return number(&c.Idle.MinBattery) }},
			{
				Name: "prediction", Live: true, About: "What is stored for predicted questions: off, answers, or both answers and tensors",
				Of: func(c *Config) Value { return text(&c.Idle.Prediction) },
			},
			{
				Name: "quiet", Live: true, About: "Time that documents and questions must be unchanged before percached predicts from them",
				Of: func(c *Config) Value { return duration(&c.Idle.Quiet) },
			},
			{
				Name: "pay-trial", Live: true, About: "Computing time that prediction may cost before it must have saved some",
				Of: func(c *Config) Value { return duration(&c.Idle.PayTrial) },
			},
		}},
		{"Serving", []Key{
			{Name: "listen", Flag: true, About: "Address of the HTTP interface; port 0 takes a free port", Of: func(c *Config) Value { return text(&c.Serving.Listen) }},
			{
				Name: "insecure-listen", About: "Listen without TLS on an address that other machines can reach",
				Of: func(c *Config) Value { return boolean(&c.Serving.Insecure) },
			},
			{Name: "tls-cert", About: "Certificate file, with intermediate certificates; empty: no TLS", Of: func(c *Config) Value { return text(&c.Serving.Cert) }},
			{Name: "tls-key", About: "Key file of the certificate", Of: func(c *Config) Value { return text(&c.Serving.Key) }},
			{
				Name: "hosts", About: "Host names that clients may use besides localhost and the listen address: NAME or NAME:PORT, separated by commas",
				Of: func(c *Config) Value { return list(&c.Serving.Hosts) },
			},
			{Name: "oidc-issuer", About: "Address of an OpenID Connect issuer whose tokens percached accepts; empty: none", Of: func(c *Config) Value { return text(&c.Serving.OIDC.Issuer) }},
			{Name: "oidc-audience", About: "Audience that a token of the issuer must have", Of: func(c *Config) Value { return text(&c.Serving.OIDC.Audience) }},
			{Name: "oidc-space-claim", About: "Claim of a token that lists its rights: SPACE:ROLE, or *:ROLE for all spaces", Of: func(c *Config) Value { return text(&c.Serving.OIDC.SpaceClaim) }},
			{Name: "origins", About: "Origins whose web pages may call percached, separated by commas", Of: func(c *Config) Value { return list(&c.Serving.Origins) }},
			{Name: "max-upload", About: "Maximum size of an upload, sent and unpacked", Of: func(c *Config) Value { return size(&c.Serving.Upload) }},
			{Name: "shutdown-grace", About: "Time for requests in progress to finish when the daemon stops", Of: func(c *Config) Value { return duration(&c.Serving.Grace) }},
			{Name: "log-level", Live: true, About: "debug, info, warn or error", Of: func(c *Config) Value { return level(&c.Serving.Level) }},
			{Name: "log-format", About: "text or json", Of: func(c *Config) Value { return text(&c.Serving.Format) }},
			{Name: "otlp-endpoint", About: "Address of an OpenTelemetry collector that gets the steps of questions (OTLP over HTTP), such as http://127.0.0.1:4318; empty: no traces", Of: func(c *Config) Value { return text(&c.Serving.Traces) }},
			{
				Name: "audit-log", About: "File of the audit log, absolute or in the data folder; empty: no audit log. Of an encrypted data folder, it must be elsewhere",
				Of: func(c *Config) Value { return text(&c.Serving.Audit) },
			},
		}},
	}
}

// Keys is the table without its headings.
func Keys() []Key {
	var all []Key
	for _, g := range Groups() {
		all = append(all, g.Keys...)
	}
	return all
}

// KeyOf finds a key by its name.
func KeyOf(name string) (Key, bool) {
	k, ok := keysByName()[name]
	return k, ok
}

// keysByName keeps the table, because each command asks for a hundred keys.
var keysByName = sync.OnceValue(func() map[string]Key {
	all := map[string]Key{}
	for _, k := range Keys() {
		all[k.Name] = k
	}
	return all
})

// Flags gives a command flags for some keys. The flags set c at once.
func (c *Config) Flags(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		k, ok := KeyOf(name)
		if !ok {
			panic(fmt.Sprintf("there is no key %q", name))
		}
		k.FlagFor(cmd, k.Of(c))
	}
}

// FlagFor gives a command the flag of a key; the flag sets v.
func (k Key) FlagFor(cmd *cobra.Command, v Value) {
	flag := cmd.Flags().VarPF(flagValue{v}, k.Name, "", k.About)
	if v.Kind == "bool" {
		flag.NoOptDefVal = "true"
	}
}

// flagValue makes a Value a flag.
type flagValue struct{ Value }

func (v flagValue) String() string {
	if v.Get == nil { // cobra asks a zero value when it prints usage
		return ""
	}
	return v.Get()
}

func (v flagValue) Set(s string) error { return v.Value.Set(s) }

func (v flagValue) Type() string { return v.Kind }
