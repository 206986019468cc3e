package api

import (
	"encoding/hex"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

// Audit keeps an audit log. Without funcs there is none.
type Audit struct {
	// Ready says why nothing can be recorded. The operation is then refused.
	Ready func() error
	// Write records an operation that ended.
	Write func(Audited)
}

// Audited is an operation that ended. It contains no text of documents or questions.
type Audited struct {
	Operation string // its operationId, or "pass"
	Token     string // the token's id
	Name      string // the token's name
	Space     string // empty: all, or none
	Outcome   string // done, client_gone, or the name of a problem
	Status    int
	Request   string // the request's id
	Answer    string // the outcome of a question, or "passed"
	IDs       map[string]string
	Counts    map[string]int64
	Keys      []string // of the configuration or of the settings of a space
	// Sync says that the record must be on the disk at once: the operation may have changed something.
	Sync bool
}

// auditedReads are the audited operations that change nothing.
var auditedReads = []string{"searchDocuments", "searchEntries", "exportEntries", "exportSpace", "backup"}

// frequentReads are operations with POST that change nothing and ask nothing of documents.
var frequentReads = []string{"postDevice", "createEmbedding"}

// questionOps are the operations that ask or search. Each is written without
// waiting for the disk.
var questionOps = []string{"ask", "askStream", "complete", "completeStream", "createChatCompletion", "createResponse", "searchDocuments", "searchEntries"}

// refusals are the statuses of requests that changed nothing. Their records do not wait for the
// disk, so that a token cannot keep the disk busy with them.
var refusals = []int{http.StatusBadRequest, http.StatusForbidden, http.StatusTooManyRequests}

// isAudited says whether the audit log records an operation: all that ask, change or export.
func (r route) isAudited() bool {
	if r.method == http.MethodGet {
		return slices.Contains(auditedReads, r.op)
	}
	return r.need.scope != scopeNone && !slices.Contains(frequentReads, r.op)
}

// auditReady refuses an operation that could not be recorded.
func (s *Server) auditReady(rt route, x *exchange) error {
	if s.Audit.Ready == nil || !rt.isAudited() {
		return nil
	}
	if err := s.Audit.Ready(); err != nil {
		s.Logger.Error("refused an operation that cannot be recorded", "error", err)
		x.unrecorded = true
		return refuse(problemUnavailable, "the audit log cannot be written")
	}
	return nil
}

// audit records an operation of a known token.
func (s *Server) audit(x *exchange, w *writer, status int) {
	if s.Audit.Write == nil || !x.route.isAudited() || x.grant.Token == "" || x.unrecorded {
		return
	}
	a := Audited{
		Operation: x.route.op, Token: x.grant.Token, Name: x.grant.Name, Status: status, Request: x.id, Outcome: "done",
		IDs: map[string]string{}, Counts: map[string]int64{}, Sync: !slices.Contains(questionOps, x.route.op) && !slices.Contains(refusals, status),
	}
	if x.grant.More == nil { // a caller with several spaces is in none of them alone
		a.Space = x.grant.Space
	}
	for _, named := range []string{x.routed.PathValue("space"), x.space} { // a refused name may be any text
		if isSpaceName(named) {
			a.Space = named
		}
	}
	passed := w.Header().Get(answerHeader) == answerPassed
	if passed {
		a.Answer = answerPassed
	}
	if passed || x.route.op == passOp {
		a.IDs["path"] = passClass(x.path)
	}
	switch {
	case x.problem != "":
		a.Outcome = string(x.problem)
	case x.cut:
		a.Outcome = "client_gone"
	}
	for _, id := range []string{"document", "entry", "upload", "conversation", "job"} {
		if v := x.routed.PathValue(id); isID(v) { // a failed operation may have changed it
			a.IDs[id] = v
		}
	}
	if x.accepted != nil {
		a.addResult(*x.accepted)
	}
	if a.Outcome == "done" {
		a.Keys = x.keys
		a.addResult(w.result)
		if x.answer != nil {
			a.addResult(*x.answer)
		}
	}
	s.Audit.Write(a)
}

// isID says whether a text has the form of an id: 32 hexadecimal digits, or 16 of a job. Other texts
// in a path are the client's.
func isID(text string) bool {
	b, err := hex.DecodeString(text)
	return err == nil && (len(b) == 16 || len(b) == 8)
}

// addResult adds the ids and counts of a reply.
func (a *Audited) addResult(v any) {
	switch r := v.(type) {
	case Answer:
		a.Answer = r.Outcome
		if r.Entry != "" {
			a.IDs["entry"] = r.Entry
		}
		a.Counts["citations"] = int64(len(r.Citations))
	case UploadStatus:
		a.IDs["upload"] = r.ID
		a.Counts["files"], a.Counts["bytes"] = int64(r.Files), r.Bytes
	case Conversation:
		a.IDs["conversation"] = r.ID
	case Space:
		a.Space = r.Name
	case Facts:
		a.Counts["facts"] = int64(len(r.Facts))
	case Passages:
		a.Counts["passages"] = int64(len(r.Passages))
	case Receipt, Cleared, Dropped, Imported, Restored:
		a.addCounts(reflect.ValueOf(v))
	}
}

// addCounts adds each number of a receipt under its JSON name.
func (a *Audited) addCounts(v reflect.Value) {
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if f := v.Field(i); f.CanInt() && f.Int() != 0 {
			a.Counts[name] = f.Int()
		}
	}
}

// noteKeys keeps the names of what a change sets, for the audit log.
func (x *exchange) noteKeys(in any) {
	if change, ok := in.(ConfigChange); ok {
		x.keys = slices.Sorted(maps.Keys(change))
	}
}

// validate refuses half an audit log.
func (a Audit) validate() error {
	if (a.Ready == nil) != (a.Write == nil) {
		return fault.New(fault.Invalid, "api.Options", "Audit has one func of two")
	}
	return nil
}
