package api

import "net/http"

// route is one operation of openapi.yaml.
type route struct {
	op     string // its operationId
	method string
	path   string
	need   access
	serve  handler
}

// handler serves a request or returns an error. dispatch turns the error into a problem.
type handler func(w http.ResponseWriter, r *http.Request) error

// routes lists all operations. Tests compare it with openapi.yaml.
func (s *Server) routes() []route {
	const (
		space    = "/v1/spaces/{space}"
		entry    = space + "/entries/{entry}"
		document = space + "/documents/{document}"
		talk     = space + "/conversations/{conversation}"
		fact     = space + "/facts/{document}"
	)
	b := s.backend
	return []route{
		{"page", "GET", "/", noToken(), s.page},
		{"pageFile", "GET", "/page/{file}", noToken(), s.pageFile},
		{"health", "GET", "/healthz", noToken(), s.health},
		{"ready", "GET", "/readyz", noToken(), s.ready},
		{"openapi", "GET", "/openapi.yaml", noToken(), s.spec},
		{"metrics", "GET", "/metrics", everywhere(RoleAsk), s.metrics},
		{"about", "GET", "/v1/about", anywhere(RoleAsk), handle(200, b.About)},
		{"getStatus", "GET", "/v1/status", everywhere(RoleAsk), handle(200, b.Status)},
		{"events", "GET", "/v1/events", anywhere(RoleAsk), s.events},

		{"listSpaces", "GET", "/v1/spaces", anywhere(RoleAsk), s.spaces},
		{"createSpace", "POST", "/v1/spaces", everywhere(RoleAdmin), handle(201, b.CreateSpace)},
		{"getSpace", "GET", space, inSpace(RoleAsk), handle(200, b.Space)},
		{"changeSpace", "PATCH", space + "/settings", inSpace(RoleAdmin), s.changeSpace},
		{"deleteSpace", "DELETE", space, inSpace(RoleAdmin), handle(200, b.DeleteSpace)},
		{"exportSpace", "GET", space + "/export", inSpace(RoleAdmin), s.exportSpace},
		{"importSpace", "POST", space + "/import", everywhere(RoleAdmin), s.importSpace},

		{"upload", "POST", space + "/documents", inSpace(RoleWrite), s.upload},
		{"uploadDocuments", "POST", space + "/uploads", inSpace(RoleWrite), s.uploadDocuments},
		{"listUploads", "GET", space + "/uploads", inSpace(RoleWrite), handle(200, b.Uploads)},
		{"cancelUpload", "DELETE", space + "/uploads/{upload}", inSpace(RoleWrite), handle(204, b.CancelUpload)},
		{"getUpload", "GET", space + "/uploads/{upload}", inSpace(RoleWrite), handle(200, b.UploadStatus)},
		{"listDocuments", "GET", space + "/documents", inSpace(RoleAsk), handle(200, b.Documents)},
		{"getDocument", "GET", document, inSpace(RoleAsk), handle(200, b.Document)},
		{"deleteDocument", "DELETE", document, inSpace(RoleWrite), handle(200, b.DeleteDocument)},
		{"getDeletions", "GET", space + "/deletions", inSpace(RoleAsk), handle(200, b.Deletions)},

		{"listFacts", "GET", space + "/facts", inSpace(RoleAsk), handle(200, b.Facts)},
		{"addFact", "POST", space + "/facts", inSpace(RoleWrite), handle(200, b.AddFact)},
		{"getFact", "GET", fact, inSpace(RoleAsk), handle(200, b.Fact)},
		{"changeFact", "PATCH", fact, inSpace(RoleWrite), handle(200, b.ChangeFact)},
		{"deleteFact", "DELETE", fact, inSpace(RoleWrite), handle(200, b.DeleteFact)},

		{"ask", "POST", space + "/ask", inSpace(RoleAsk), orStream(s.askWhole, s.askStream)},
		{"askStream", "POST", space + "/ask/stream", inSpace(RoleAsk), s.askStream},
		{"complete", "POST", space + "/complete", inSpace(RoleAsk), orStream(s.completeWhole, s.completeStream)},
		{"completeStream", "POST", space + "/complete/stream", inSpace(RoleAsk), s.completeStream},
		{"listHistory", "GET", space + "/history", inSpace(RoleAsk), handle(200, s.history)},
		{"clearHistory", "DELETE", space + "/history", inSpace(RoleWrite), handle(200, b.ClearHistory)},

		{"listConversations", "GET", space + "/conversations", inSpace(RoleAsk), handle(200, b.Conversations)},
		{"createConversation", "POST", space + "/conversations", inSpace(RoleAsk), handle(201, b.CreateConversation)},
		{"getConversation", "GET", talk, inSpace(RoleAsk), handle(200, b.Conversation)},
		{"addTurns", "POST", talk + "/turns", inSpace(RoleAsk), handle(200, b.AddTurns)},
		{"deleteConversation", "DELETE", talk, inSpace(RoleAsk), handle(200, b.DeleteConversation)},

		{"searchDocuments", "GET", space + "/search", inSpace(RoleAsk), handle(200, b.SearchDocuments)},
		{"listEntries", "GET", space + "/entries", inSpace(RoleAsk), handle(200, b.Entries)},
		{"searchEntries", "GET", space + "/entries/search", inSpace(RoleAsk), handle(200, b.SearchEntries)},
		{"exportEntries", "GET", space + "/entries/export", inSpace(RoleAdmin), s.exportEntries},
		{"importEntries", "POST", space + "/entries/import", inSpace(RoleAdmin), s.importEntries},
		{"getEntry", "GET", entry, inSpace(RoleAsk), handle(200, b.Entry)},
		{"deleteEntry", "DELETE", entry, inSpace(RoleWrite), handle(204, b.DeleteEntry)},
		{"getGate", "GET", space + "/gate", inSpace(RoleAsk), handle(200, b.Gate)},
		{"vetoEntry", "POST", entry + "/veto", inSpace(RoleWrite), handle(204, b.VetoEntry)},

		{"getCache", "GET", "/v1/cache", everywhere(RoleAsk), handle(200, b.Cache)},
		{"limitCache", "PATCH", "/v1/cache", everywhere(RoleAdmin), handle(200, b.LimitCache)},
		{"verifyCache", "POST", "/v1/cache/verify", everywhere(RoleAdmin), handle(200, b.VerifyCache)},
		{"clearCache", "DELETE", "/v1/cache", everywhere(RoleAdmin), handle(200, b.ClearCache)},
		{"getSpaceCache", "GET", space + "/cache", inSpace(RoleAsk), handle(200, b.SpaceCache)},
		{"getTree", "GET", space + "/cache/tree", inSpace(RoleAsk), handle(200, b.Tree)},
		{"clearSpaceCache", "DELETE", space + "/cache", inSpace(RoleAdmin), handle(200, b.ClearSpaceCache)},

		{"listPredictions", "GET", space + "/predictions", inSpace(RoleAsk), handle(200, b.Predictions)},
		{"predict", "POST", space + "/predictions", inSpace(RoleWrite), handle(200, s.predict)},

		{"getIdle", "GET", "/v1/idle", everywhere(RoleAsk), handle(200, b.Idle)},
		{"postDevice", "POST", "/v1/idle/device", everywhere(RoleWrite), handle(200, b.Device)},
		{"listQueue", "GET", "/v1/idle/queue", everywhere(RoleAsk), handle(200, b.Queue)},
		{"retryJob", "POST", "/v1/idle/queue/{job}/retry", everywhere(RoleAdmin), handle(204, b.RetryJob)},
		{"getLedger", "GET", "/v1/idle/ledger", everywhere(RoleAsk), handle(200, b.Ledger)},
		{"pauseIdle", "POST", "/v1/idle/pause", everywhere(RoleAdmin), handle(200, b.Pause)},
		{"resumeIdle", "POST", "/v1/idle/resume", everywhere(RoleAdmin), handle(200, b.Resume)},
		{"drainIdle", "POST", "/v1/idle/drain", everywhere(RoleAdmin), handle(200, b.Drain)},

		{"forgetPlacements", "DELETE", "/v1/placements", everywhere(RoleAdmin), handle(204, b.ForgetPlacements)},

		{"backup", "GET", "/v1/backup", everywhere(RoleAdmin), s.backup},
		{"restore", "POST", "/v1/restore", everywhere(RoleAdmin), s.restore},

		{"getConfig", "GET", "/v1/config", everywhere(RoleAdmin), handle(200, b.Config)},
		{"changeConfig", "PATCH", "/v1/config", everywhere(RoleAdmin), handle(200, b.ChangeConfig)},

		{"createChatCompletion", "POST", "/v1/chat/completions", anywhere(RoleAsk), s.orPass(s.chat)},
		{"createResponse", "POST", "/v1/responses", anywhere(RoleAsk), s.orPass(s.responses)},
		{"createEmbedding", "POST", "/v1/embeddings", anywhere(RoleAsk), s.orPass(s.embeddings)},
		{"listModels", "GET", "/v1/models", anywhere(RoleAsk), s.models},
		{"getModel", "GET", "/v1/models/{model}", anywhere(RoleAsk), s.model},
	}
}
