package telemetry

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

// other labels a word that is in no table.
const other = "other"

// The values of labels, as the observed packages use them. Tests compare the tables with those packages.
var (
	outcomes = []string{"answer_hit", "verified_hit", "tensor_hit", "miss"}

	stages = []string{
		"match_question", "retrieve", "match_tensors", "queue", "load_tensors", "prefill", "first_token", "decode", "capture", "store",
	}

	gateTests = []string{
		"answered", "veto", "stale", "age", "similarity", "expired", "settings", "versions", "overlap", "likeness", "fresh",
	}

	draftSources = []string{"stored", "near", "prompt"}

	jobKinds = []string{
		"reembed", "remember", "check", "refresh", "answer", "abstract", "predict", "history", "populate", "decode", "restore", "pack", "warm", "calibrate", "clean",
	}

	jobEnds = []string{"done", "nothing", "preempted", "failed", "parked"}

	idleStates = []string{"working", "idle", "waiting", "paused"}

	uploadStates = []string{"queued", "running", "done", "failed", "dropped"}

	expiring = []string{"slices", "questions", "answers", "turns", "predictions"}

	// caches are the layers that answers come from; stores are the layers that can find damage.
	caches = []string{"bank", "tensors"}
	stores = []string{"bank", "tensors", "knowledge", "predictor", "scheduler"}

	// operations are the operationIds of openapi.yaml.
	operations = []string{
		"page", "pageFile", "health", "ready", "openapi", "metrics", "about", "getStatus", "events",
		"listSpaces", "createSpace", "getSpace", "changeSpace", "deleteSpace", "exportSpace", "importSpace",
		"upload", "uploadDocuments", "listUploads", "getUpload", "cancelUpload", "listDocuments", "getDocument", "deleteDocument", "getDeletions",
		"ask", "askStream", "complete", "completeStream", "listHistory", "clearHistory",
		"listConversations", "createConversation", "getConversation", "addTurns", "deleteConversation",
		"listFacts", "addFact", "getFact", "changeFact", "deleteFact",
		"searchDocuments", "listEntries", "searchEntries", "exportEntries", "importEntries", "getEntry", "deleteEntry", "vetoEntry", "getGate",
		"getCache", "limitCache", "verifyCache", "clearCache", "getSpaceCache", "getTree", "clearSpaceCache",
		"listPredictions", "predict",
		"getIdle", "postDevice", "listQueue", "retryJob", "getLedger", "pauseIdle", "resumeIdle", "drainIdle", "forgetPlacements",
		"getConfig", "changeConfig", "backup", "restore",
		"createChatCompletion", "createResponse", "createEmbedding", "listModels", "getModel",
	}
)

// byLabel holds a value for each word of a label, and for other.
type byLabel[T any] map[string]T

func forLabels[T any](words []string, of func(word string) T) byLabel[T] {
	b := byLabel[T]{other: of(other)}
	for _, w := range words {
		b[w] = of(w)
	}
	return b
}

func (b byLabel[T]) of(word string) T {
	if t, ok := b[word]; ok {
		return t
	}
	return b[other]
}

// faultKinds returns the labels of error kinds.
func faultKinds() (words []string) {
	for k := fault.Invalid; k <= fault.Internal; k++ {
		words = append(words, faultKind(k.String()))
	}
	return words
}

func faultKind(name string) string { return strings.ReplaceAll(name, " ", "_") }

// statusClientClosed is the status of a request whose client disconnected before the response.
const statusClientClosed = 499

func status(code int) string {
	if http.StatusText(code) == "" && code != statusClientClosed {
		return other
	}
	return strconv.Itoa(code)
}

// class returns the class of a status, such as 2xx.
func class(code int) string {
	if status(code) == other {
		return other
	}
	return strconv.Itoa(code/100) + "xx"
}
