package hostile

import (
	"fmt"
	"strings"
)

// headers are wrong in a header.
func headers(raw text) []Request {
	// Send exactly what net/http reads: unread bytes would reset the connection before the response
	// is read.
	full := func(s string) string {
		return ("GET " + space + " HTTP/1.1\r\n" + s)[:MaxHeader+4096]
	}
	return []Request{
		{"a header too large", full("X-Large: " + long(48<<10)), 431, ""},
		{"many headers", full(strings.Repeat("X-A: a\r\n", 6000)), 431, ""},
		{"a header without a name", raw("GET "+space, "", ": x"), 400, ""},
		{"a space in a header's name", raw("GET "+space, "", "X Y: 1"), 400, ""},
		{"a NUL in a header", raw("GET "+space, "", "X-A: a\x00b"), 400, ""},
		{"two lengths", raw(ask, good, "Content-Length: 20\r\nContent-Length: 21"), 400, ""},
		{"a negative length", raw(ask, good, "Content-Length: -1"), 400, ""},
		{"an unknown encoding of the transfer", raw(ask, good, "Content-Length:", "Transfer-Encoding: gzip"), 501, ""},
		{"an unknown expectation", raw(ask, good, "Expect: miracles"), 417, ""},
	}
}

// bodies are wrong in the body.
func bodies(raw text) []Request {
	nested := strings.Repeat("[", 30000) + strings.Repeat("]", 30000)
	chunked := []string{"Content-Length:", "Transfer-Encoding: chunked"}
	return []Request{
		{"no body", raw(ask, "", "Content-Type: application/json", "Content-Length: 0"), 400, "bad_body"},
		{"no body and no type", raw(ask, ""), 415, "media_type"},
		{"no type", raw(ask, good, "Content-Type:"), 415, "media_type"},
		{"another type", raw(ask, good, "Content-Type: text/plain"), 415, "media_type"},
		{"a form", raw(ask, "question=when", "Content-Type: application/x-www-form-urlencoded"), 415, "media_type"},
		{"a type that is none", raw(ask, good, "Content-Type: ;;"), 415, "media_type"},
		{"two types", raw(ask, good, "Content-Type: application/json\r\nContent-Type: text/plain"), 415, "media_type"},
		{"another charset", raw(ask, good, "Content-Type: application/json; charset=utf-16"), 415, "media_type"},
		{"compressed", raw(ask, good, "Content-Encoding: gzip"), 415, "media_type"},
		{"a merge patch where none is read", raw(ask, good, "Content-Type: application/merge-patch+json"), 415, "media_type"},
		{"too large", raw(ask, `{"question":"`+long(MaxBody+1000)+`"}`), 413, "too_large"},
		{"too large, length not said", raw(ask, fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", 2*MaxBody, long(2*MaxBody)), chunked...), 413, "too_large"},
		{"too large, only said so", raw(ask, good, "Content-Length: 99999999999"), 413, "too_large"},
		{"broken chunks", raw(ask, "zz\r\n{}\r\n", chunked...), 400, "bad_body"},
		{"not JSON", raw(ask, "when?"), 400, "bad_body"},
		{"cut short", raw(ask, `{"question":"when?`), 400, "bad_body"},
		{"something behind it", raw(ask, good+"{}"), 400, "bad_body"},
		{"a comment", raw(ask, good+"// x"), 400, "bad_body"},
		{"a byte order mark", raw(ask, "\ufeff"+good), 400, "bad_body"},
		{"UTF-16", raw(ask, "{\x00}\x00"), 400, "bad_body"},
		{"not UTF-8", raw(ask, "{\"question\":\"\xff\xfe\"}"), 400, "bad_body"},
		{"a number that is none", raw(ask, `{"question":"when?","threshold":NaN}`), 400, "bad_body"},
		{"deep", raw(ask, `{"question":`+nested+`}`), 400, "bad_body"},
		{"deep in an unknown field", raw(ask, `{"x":`+strings.Repeat(`{"x":`, 5000)+"1"+strings.Repeat("}", 5001)), 400, "bad_body"},
		{"a list", raw(ask, "[]"), 400, "invalid"},
		{"null", raw(ask, "null"), 400, "invalid"},
		{"text", raw(ask, `"when?"`), 400, "invalid"},
		{"an unknown field", raw(ask, `{"question":"when?","tempo":1}`), 400, "invalid"},
		{"a field in other case", raw(ask, `{"Question":"when?"}`), 400, "invalid"},
		{"a field twice", raw(ask, `{"question":"when?","question":"who?"}`), 400, "invalid"},
		{"a wrong type", raw(ask, `{"question":{"text":"when?"}}`), 400, "invalid"},
		{"a null field", raw(ask, `{"question":null}`), 400, "invalid"},
		{"a number too large", raw(ask, `{"question":"when?","threshold":1e999}`), 400, "invalid"},
		{"a number out of range", raw(ask, `{"question":"when?","threshold":1.5}`), 400, "invalid"},
		{"a share out of range", raw(ask, `{"question":"when?","max_wrong":-0.1}`), 400, "invalid"},
		{"a whole number too large", raw("PATCH /v1/cache", `{"limit":9223372036854775808}`), 400, "invalid"},
		{"half a byte", raw("PATCH /v1/cache", `{"limit":0.5}`), 400, "invalid"},
		{"nothing to change", raw("PATCH /v1/cache", `{}`), 400, "invalid"},
		{"an empty question", raw(ask, `{"question":" \n"}`), 400, "invalid"},
		{"a negative age", raw(ask, `{"question":"when?","max_age_seconds":-1}`), 400, "invalid"},
		{"settings that are a list", raw("PATCH "+space+"/settings", `[{"k":4}]`), 400, "invalid"},
		{"a number as a setting", raw("PATCH /v1/config", `{"threshold":0.5}`), 400, "invalid"},
		{"a space's name", raw("POST /v1/spaces", `{"name":"../mail","kind":"emails"}`), 400, "invalid"},
		{"a space's name in capitals", raw("POST /v1/spaces", `{"name":"Mail","kind":"emails"}`), 400, "invalid"},
		{"an unknown setting", raw("POST /v1/spaces", `{"name":"mail","settings":{"k":4,"q":1}}`), 400, "invalid"},
		{"an unknown placement", raw("POST /v1/spaces", `{"name":"mail","settings":{"placement":"anywhere"}}`), 400, "invalid"},
		{"a limit of tensors below nothing", raw("PATCH /v1/cache", `{"limit":-1}`), 400, "invalid"},
		{"no limit of tensors", raw("PATCH /v1/cache", `{}`), 400, "invalid"},
		{"a body where none is read", raw("GET "+space, `{}`), 400, "unexpected_body"},
		{"a body for the page", raw("GET /", "{}"), 400, "unexpected_body"},
		{"a body to delete", raw("DELETE "+space, `{}`), 400, "unexpected_body"},
		{"a body to pause", raw("POST /v1/idle/pause", `{"seconds":1}`), 400, "unexpected_body"},
		{"a second request as a body", raw("GET "+space, raw("DELETE "+space, ""), "Content-Length: 90"), 400, "unexpected_body"},
	}
}

// queries are wrong in a parameter or in a name of the path.
func queries(raw text) []Request {
	return []Request{
		{"an unknown parameter", raw("GET "+space+"?verbose=1", ""), 400, "invalid"},
		{"a parameter twice", raw("GET "+space+"/documents?limit=1&limit=2", ""), 400, "invalid"},
		{"a parameter in other case", raw("GET "+space+"/documents?Limit=1", ""), 400, "invalid"},
		{"a limit of nothing", raw("GET "+space+"/documents?limit=0", ""), 400, "invalid"},
		{"a limit too large", raw("GET "+space+"/documents?limit=1001", ""), 400, "invalid"},
		{"a limit that overflows", raw("GET "+space+"/documents?limit=99999999999999999999", ""), 400, "invalid"},
		{"a limit in words", raw("GET "+space+"/documents?limit=ten", ""), 400, "invalid"},
		{"an empty limit", raw("GET "+space+"/documents?limit=", ""), 400, "invalid"},
		{"a file's name upwards", raw("POST "+space+"/documents?name=notes/../../../etc/passwd", "x", "Content-Type: text/plain"), 400, "invalid"},
		{"a file's name upwards, encoded", raw("POST "+space+"/documents?name=%2e%2e%5Ca.txt", "x", "Content-Type: text/plain"), 400, "invalid"},
		{"a file's name with a line break", raw("POST "+space+"/documents?name=a/b%0a.txt", "x", "Content-Type: text/plain"), 400, "invalid"},
		{"a file's name too long", raw("POST "+space+"/documents?name="+long(1001), "x", "Content-Type: text/plain"), 400, "invalid"},
		{"a folder for a file's name", raw("POST "+space+"/documents?name=notes/", "x", "Content-Type: text/plain"), 400, "invalid"},
		{"a cursor that is not UTF-8", raw("GET "+space+"/documents?after=%ff", ""), 400, "invalid"},
		{"a NUL in a cursor", raw("GET "+space+"/documents?after=a%00b", ""), 400, "invalid"},
		{"nothing to find", raw("GET "+space+"/documents?find=", ""), 400, "invalid"},
		{"spaces to find", raw("GET "+space+"/documents?find=%20%09", ""), 400, "invalid"},
		{"too much to find", raw("GET "+space+"/documents?find="+long(201), ""), 400, "invalid"},
		{"what is not UTF-8 to find", raw("GET "+space+"/documents?find=%ff", ""), 400, "invalid"},
		{"a NUL to find", raw("GET "+space+"/documents?find=a%00b", ""), 400, "invalid"},
		{"something to find twice", raw("GET "+space+"/documents?find=a&find=b", ""), 400, "invalid"},
		{"a broken query", raw("GET "+space+"/documents?limit=%zz", ""), 400, "invalid"},
		{"a semicolon", raw("GET "+space+"/documents?limit=1;after=2", ""), 400, "invalid"},
		{"neither true nor false", raw("DELETE "+space+"?clean_up=yes", ""), 400, "invalid"},
		{"nothing to search for", raw("GET "+space+"/entries/search", ""), 400, "invalid"},
		{"a search for too much", raw("GET "+space+"/entries/search?q=x&limit=101", ""), 400, "invalid"},
		{"an unknown parameter of the description", raw("GET /openapi.yaml?format=json", ""), 400, "invalid"},
		{"a token in the page's query", raw("GET /?token=pc_secret", ""), 400, "invalid"},
		{"work of no space's name", raw("POST /v1/idle/drain?space=../mail", ""), 400, "invalid"},
		{"work of an empty space's name", raw("POST /v1/idle/drain?space=", ""), 400, "invalid"},
		{"work of an empty kind", raw("POST /v1/idle/drain?kind=", ""), 400, "invalid"},
		{"the books of an empty space's name", raw("GET /v1/idle/ledger?space=", ""), 400, "invalid"},
		{"no work at all", raw("POST /v1/idle/drain?jobs=0", ""), 400, "invalid"},
		{"work of less than no tokens", raw("POST /v1/idle/drain?tokens=-1", ""), 400, "invalid"},
		{"work without a number", raw("POST /v1/idle/drain?jobs=", ""), 400, "invalid"},
		{"a kind of work twice", raw("POST /v1/idle/drain?kind=check&kind=clean", ""), 400, "invalid"},
		{"a time that is none", raw("GET /v1/idle/ledger?since=yesterday", ""), 400, "invalid"},
		{"a document's name too short", raw("GET "+space+"/documents/"+document[1:], ""), 400, "invalid"},
		{"a document's name in other letters", raw("GET "+space+"/documents/"+document[1:]+"g", ""), 400, "invalid"},
		{"an unacceptable form", raw(ask, good, "Accept: text/html"), 406, "not_acceptable"},
		{"lines as JSON", raw("POST "+space+"/entries/import", good), 415, "media_type"},
	}
}
