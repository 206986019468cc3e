package api

import (
	"net/http"
	"slices"
	"time"
)

// QuotaUse is what a token's quota counts.
type QuotaUse uint8

// The uses.
const (
	UseRequest QuotaUse = iota
	UseAsk              // a question, or a chat
	UseUpload           // bytes
)

// QuotaRefusal says which limit a token has reached.
type QuotaRefusal struct {
	Limit string        // in words
	After time.Duration // until it allows more
}

// askOps are the operations that count as a question.
var askOps = []string{"ask", "askStream", "createChatCompletion", "createResponse"}

// isUpload says whether an operation adds documents or entries of any size.
func (r route) isUpload() bool {
	return slices.Contains([]string{"upload", "uploadDocuments", "importEntries", "importSpace", "restore"}, r.op)
}

// takeQuota books n uses of the request's token, or refuses the request if they exceed its quota.
func (s *Server) takeQuota(x *exchange, use QuotaUse, n int64) error {
	if s.Quota == nil {
		return nil
	}
	if no := s.Quota(x.grant.Token, use, n); no != nil {
		return &problemError{problem: problemQuota, detail: "this token may use " + no.Limit, after: no.After}
	}
	return nil
}

// takeUse books what a request uses beside itself.
func (s *Server) takeUse(rt route, x *exchange, r *http.Request) error {
	switch {
	case s.Quota == nil || rt.need.scope == scopeNone:
	case slices.Contains(askOps, rt.op), rt.op == passOp && generates(r):
		return s.takeQuota(x, UseAsk, 1)
	case rt.isUpload() && r.ContentLength >= 0:
		if err := s.takeQuota(x, UseUpload, r.ContentLength); err != nil {
			return err
		}
		x.body.booked = r.ContentLength
	case rt.isUpload(): // the length shows while the body is read
		x.body.take = func(n int64) error { return s.takeQuota(x, UseUpload, n) }
	}
	return nil
}

// returnQuota gives back the bytes of an upload that never came.
func (s *Server) returnQuota(x *exchange) {
	if rest := x.body.booked - x.body.read; rest > 0 {
		_ = s.takeQuota(x, UseUpload, -rest) // cannot be refused
	}
}
