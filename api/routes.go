package api

import "net/http"

// route is one operation of openapi.yaml.
type route struct {
	op     string // its operationId
	method string
	path   string
	need   need
	serve  handler
}

// handler serves a request, or says why it cannot: the error is told to the
// client in one place.
type handler func(w http.ResponseWriter, r *http.Request) error

// routes are all operations. Tests hold them to openapi.yaml.
func (s *Server) routes() []route {
	const (
		space    = "/v1/spaces/{space}"
		entry    = space + "/entries/{entry}"
		document = space + "/documents/{document}"
	)
	b := s.backend
	return []route{
		{"page", "GET", "/", open(), s.page},
		{"pageFile", "GET", "/page/{file}", open(), s.pageFile},
		{"health", "GET", "/healthz", open(), s.health},
		{"ready", "GET", "/readyz", open(), s.ready},
		{"openapi", "GET", "/openapi.yaml", open(), s.spec},
		{"metrics", "GET", "/metrics", everywhere(RoleAsk), s.metrics},
		{"about", "GET", "/v1/about", anywhere(RoleAsk), call(200, b.About)},
		{"getStatus", "GET", "/v1/status", everywhere(RoleAsk), call(200, b.Status)},
		{"events", "GET", "/v1/events", anywhere(RoleAsk), s.events},

		{"listSpaces", "GET", "/v1/spaces", anywhere(RoleAsk), s.spaces},
		{"createSpace", "POST", "/v1/spaces", everywhere(RoleAdmin), call(201, b.CreateSpace)},
		{"getSpace", "GET", space, inSpace(RoleAsk), call(200, b.Space)},
		{"changeSpace", "PATCH", space + "/settings", inSpace(RoleAdmin), s.changeSpace},
		{"deleteSpace", "DELETE", space, inSpace(RoleAdmin), call(200, b.DeleteSpace)},

		{"upload", "POST", space + "/documents", inSpace(RoleWrite), s.upload},
		{"listUploads", "GET", space + "/uploads", inSpace(RoleWrite), call(200, b.Uploads)},
		{"cancelUpload", "DELETE", space + "/uploads/{upload}", inSpace(RoleWrite), call(204, b.CancelUpload)},
		{"getUpload", "GET", space + "/uploads/{upload}", inSpace(RoleWrite), call(200, b.UploadStatus)},
		{"listDocuments", "GET", space + "/documents", inSpace(RoleAsk), call(200, b.Documents)},
		{"getDocument", "GET", document, inSpace(RoleAsk), call(200, b.Document)},
		{"deleteDocument", "DELETE", document, inSpace(RoleWrite), call(200, b.DeleteDocument)},

		{"ask", "POST", space + "/ask", inSpace(RoleAsk), s.ask},
		{"listHistory", "GET", space + "/history", inSpace(RoleAsk), call(200, s.history)},
		{"clearHistory", "DELETE", space + "/history", inSpace(RoleWrite), call(200, b.ClearHistory)},

		{"listEntries", "GET", space + "/entries", inSpace(RoleAsk), call(200, b.Entries)},
		{"searchEntries", "GET", space + "/entries/search", inSpace(RoleAsk), call(200, b.SearchEntries)},
		{"exportEntries", "GET", space + "/entries/export", inSpace(RoleAdmin), s.exportEntries},
		{"importEntries", "POST", space + "/entries/import", inSpace(RoleAdmin), s.importEntries},
		{"getEntry", "GET", entry, inSpace(RoleAsk), call(200, b.Entry)},
		{"deleteEntry", "DELETE", entry, inSpace(RoleWrite), call(204, b.DeleteEntry)},
		{"vetoEntry", "POST", entry + "/veto", inSpace(RoleWrite), call(204, b.VetoEntry)},

		{"getCache", "GET", "/v1/cache", everywhere(RoleAsk), call(200, b.Cache)},
		{"limitCache", "PATCH", "/v1/cache", everywhere(RoleAdmin), call(200, b.LimitCache)},
		{"verifyCache", "POST", "/v1/cache/verify", everywhere(RoleAdmin), call(200, b.VerifyCache)},
		{"clearCache", "DELETE", "/v1/cache", everywhere(RoleAdmin), call(200, b.ClearCache)},
		{"getSpaceCache", "GET", space + "/cache", inSpace(RoleAsk), call(200, b.SpaceCache)},
		{"getTree", "GET", space + "/cache/tree", inSpace(RoleAsk), call(200, b.Tree)},
		{"clearSpaceCache", "DELETE", space + "/cache", inSpace(RoleAdmin), call(200, b.ClearSpaceCache)},

		{"listPredictions", "GET", space + "/predictions", inSpace(RoleAsk), call(200, b.Predictions)},
		{"predict", "POST", space + "/predictions", inSpace(RoleWrite), call(200, s.predict)},

		{"getIdle", "GET", "/v1/idle", everywhere(RoleAsk), call(200, b.Idle)},
		{"postDevice", "POST", "/v1/idle/device", everywhere(RoleWrite), call(200, b.Device)},
		{"listQueue", "GET", "/v1/idle/queue", everywhere(RoleAsk), call(200, b.Queue)},
		{"retryJob", "POST", "/v1/idle/queue/{job}/retry", everywhere(RoleAdmin), call(204, b.RetryJob)},
		{"getLedger", "GET", "/v1/idle/ledger", everywhere(RoleAsk), call(200, b.Ledger)},
		{"pauseIdle", "POST", "/v1/idle/pause", everywhere(RoleAdmin), call(200, b.Pause)},
		{"resumeIdle", "POST", "/v1/idle/resume", everywhere(RoleAdmin), call(200, b.Resume)},
		{"drainIdle", "POST", "/v1/idle/drain", everywhere(RoleAdmin), call(200, b.Drain)},

		{"forgetPlacements", "DELETE", "/v1/placements", everywhere(RoleAdmin), call(204, b.ForgetPlacements)},

		{"backup", "GET", "/v1/backup", everywhere(RoleAdmin), s.backup},
		{"restore", "POST", "/v1/restore", everywhere(RoleAdmin), s.restore},

		{"getConfig", "GET", "/v1/config", everywhere(RoleAdmin), call(200, b.Config)},
		{"changeConfig", "PATCH", "/v1/config", everywhere(RoleAdmin), call(200, b.ChangeConfig)},

		{"createChatCompletion", "POST", "/v1/chat/completions", anywhere(RoleAsk), s.chat},
		{"createEmbedding", "POST", "/v1/embeddings", anywhere(RoleAsk), s.embeddings},
		{"listModels", "GET", "/v1/models", anywhere(RoleAsk), s.models},
		{"getModel", "GET", "/v1/models/{model}", anywhere(RoleAsk), s.model},
	}
}
