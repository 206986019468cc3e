package telemetry

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

// other is what a label says of a word that is in none of the tables.
const other = "other"

// The words of the labels. They are those of the packages that observe; tests
// hold the tables to them.
var (
	outcomes = []string{"answer_hit", "tensor_hit", "miss"}

	stages = []string{
		"match_question", "retrieve", "match_tensors", "queue", "load_tensors", "prefill", "first_token", "decode", "capture", "store",
	}

	gateTests = []string{
		"answered", "veto", "stale", "age", "similarity", "expired", "settings", "versions", "overlap",
		"negation", "number", "date", "name", "role", "opposite", "question", "tense", "scope", "topic", "fresh",
	}

	jobKinds = []string{
		"reembed", "check", "refresh", "answer", "abstract", "predict", "history", "populate", "decode", "restore", "warm", "calibrate", "clean",
	}

	jobEnds = []string{"done", "nothing", "preempted", "failed", "parked"}

	idleStates = []string{"working", "idle", "waiting", "paused"}

	uploadStates = []string{"queued", "running", "done", "failed", "dropped"}

	// caches are the layers that answers come from. The stores can find damage,
	// too.
	caches = []string{"bank", "tensors"}
	stores = []string{"bank", "tensors", "knowledge", "predictor", "scheduler"}

	// operations are those of openapi.yaml.
	operations = []string{
		"page", "pageFile", "health", "ready", "openapi", "metrics", "about", "getStatus", "events",
		"listSpaces", "createSpace", "getSpace", "changeSpace", "deleteSpace",
		"upload", "listUploads", "getUpload", "cancelUpload", "listDocuments", "getDocument", "deleteDocument",
		"ask", "listHistory", "clearHistory",
		"listEntries", "searchEntries", "exportEntries", "importEntries", "getEntry", "deleteEntry", "vetoEntry",
		"getCache", "limitCache", "verifyCache", "clearCache", "getSpaceCache", "getTree", "clearSpaceCache",
		"listPredictions", "predict",
		"getIdle", "postDevice", "listQueue", "retryJob", "getLedger", "pauseIdle", "resumeIdle", "drainIdle", "forgetPlacements",
		"getConfig", "changeConfig", "backup", "restore",
		"createChatCompletion", "createEmbedding", "listModels", "getModel",
	}
)

// by has something for each word of a label, and for other.
type by[T any] map[string]T

func each[T any](words []string, of func(word string) T) by[T] {
	b := by[T]{other: of(other)}
	for _, w := range words {
		b[w] = of(w)
	}
	return b
}

func (b by[T]) of(word string) T {
	if t, ok := b[word]; ok {
		return t
	}
	return b[other]
}

// faultKinds are the kinds of errors, as labels have them.
func faultKinds() (words []string) {
	for k := fault.Invalid; k <= fault.Internal; k++ {
		words = append(words, faultKind(k.String()))
	}
	return words
}

func faultKind(name string) string { return strings.ReplaceAll(name, " ", "_") }

// closed is what proxies call a request whose client went before the answer.
const closed = 499

func status(code int) string {
	if http.StatusText(code) == "" && code != closed {
		return other
	}
	return strconv.Itoa(code)
}

// class is the first digit of a status, as in 2xx.
func class(code int) string {
	if status(code) == other {
		return other
	}
	return strconv.Itoa(code/100) + "xx"
}
