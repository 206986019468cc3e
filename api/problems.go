package api

import "time"

// problem names a kind of problem. Names are part of the interface: they stay.
type problem string

// The problems.
const (
	problemInvalid              problem = "invalid"
	problemUnsupportedParameter problem = "unsupported_parameter"
	problemBadBody              problem = "bad_body"
	problemUnexpectedBody       problem = "unexpected_body"
	problemBadPath              problem = "bad_path"
	problemUnauthorized         problem = "unauthorized"
	problemForbidden            problem = "forbidden"
	problemBadHost              problem = "bad_host"
	problemBadOrigin            problem = "bad_origin"
	problemNotFound             problem = "not_found"
	problemModelNotFound        problem = "model_not_found"
	problemNoOperation          problem = "no_operation"
	problemMethod               problem = "method_not_allowed"
	problemNotAcceptable        problem = "not_acceptable"
	problemSlowRequest          problem = "slow_request"
	problemConflict             problem = "conflict"
	problemTooLarge             problem = "too_large"
	problemURITooLong           problem = "uri_too_long"
	problemMediaType            problem = "media_type"
	problemOverloaded           problem = "overloaded"
	problemTooManyRequests      problem = "too_many_requests"
	problemTooManyStreams       problem = "too_many_streams"
	problemInternal             problem = "internal"
	problemUnsupported          problem = "unsupported"
	problemStarting             problem = "starting"
	problemUnavailable          problem = "unavailable"
	problemTimeout              problem = "timeout"
)

// problemRow is what is the same whenever a problem comes up.
type problemRow struct {
	status int
	title  string
	fix    string
	after  time.Duration // when to try again; 0: not said
}

// problems is the table of docs/api.md.
var problems = map[problem]problemRow{
	problemInvalid:              {400, "The request is not right", "Correct what detail and errors name, and send it again.", 0},
	problemUnsupportedParameter: {400, "A parameter asks for what is not done here", "Leave out what errors names, or ask for what is done.", 0},
	problemBadBody:              {400, "The body cannot be read", "Send a body as openapi.yaml describes it; JSON is one value in UTF-8.", 0},
	problemUnexpectedBody:       {400, "This operation takes no body", "Send the request without a body.", 0},
	problemBadPath:              {400, "The path cannot be read", "Write names in the path as percent-encoded UTF-8, without slashes and control characters.", 0},
	problemUnauthorized:         {401, "A token is needed", "Send Authorization: Bearer and a token; percached token show prints the main one.", 0},
	problemForbidden:            {403, "The token does not allow this", "Use a token whose space and role allow it; percached token create makes one.", 0},
	problemBadHost:              {403, "The Host header names another host", "Call percached by localhost or a loopback address, or add the name to the setting hosts.", 0},
	problemBadOrigin:            {403, "Pages of this origin may not call", "Add the origin to the setting origins if its pages may call percached.", 0},
	problemNotFound:             {404, "There is no such thing", "List what is there, and use a name from the list.", 0},
	problemModelNotFound:        {404, "There is no such model", "Name a space as the model; GET /v1/models lists those that there are.", 0},
	problemNoOperation:          {404, "There is nothing at this path", "See /openapi.yaml for the paths that there are.", 0},
	problemMethod:               {405, "The path does not know this method", "Use one of the methods in the Allow header.", 0},
	problemNotAcceptable:        {406, "The answer cannot have the form that is accepted", "Accept application/json, or text/event-stream where openapi.yaml names it.", 0},
	problemSlowRequest:          {408, "The body came too slowly", "Send the body without long pauses.", 0},
	problemConflict:             {409, "It clashes with what is there", "Look at what is there, and change the request or what is there.", 0},
	problemTooLarge:             {413, "The body is too large", "Send less at once, or raise the limit in the settings.", 0},
	problemURITooLong:           {414, "The path and query are too long", "Shorten them.", 0},
	problemMediaType:            {415, "The body has a type that is not read here", "Set Content-Type to the type that openapi.yaml names.", 0},
	problemOverloaded:           {429, "There is too much to do", "Wait for as long as Retry-After says, and try again.", time.Second},
	problemTooManyRequests:      {429, "Too many requests are being served", "Wait for as long as Retry-After says, and try again.", time.Second},
	problemTooManyStreams:       {429, "Too many streams of events are open", "Close one, or try again later.", 5 * time.Second},
	problemInternal:             {500, "Something broke inside", "Look for the request's id in percached's log, and report it.", 0},
	problemUnsupported:          {501, "That is not possible here", "See detail; percached doctor tells what this machine and its models can do.", 0},
	problemStarting:             {503, "percached is not ready", "Wait until /readyz answers 200.", 5 * time.Second},
	problemUnavailable:          {503, "A part does not work now", "Try again later; percached's log says what is wrong.", 5 * time.Second},
	problemTimeout:              {504, "It took too long", "Try again, or raise the limit in the settings.", 0},
}
