package hostile

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
)

// The limits of the tested server: bytes of a JSON body and of headers.
const (
	MaxBody   = 1 << 20
	MaxHeader = 32 << 10
)

const (
	space    = "/v1/spaces/mail"
	ask      = "POST " + space + "/ask"
	good     = `{"question":"when?"}`
	document = "0123456789abcdef0123456789abcdef"
)

// Request is a bad request with the expected response.
type Request struct {
	Name    string
	Text    string
	Status  int
	Problem string // its name; empty if net/http refuses the request
}

// Tokens are valid tokens.
type Tokens struct {
	All                string // role admin, all spaces
	Write              string // role write, all spaces
	MailAdmin, MailAsk string // for the space mail
}

// Text builds a request from method and path, body and headers. A header replaces the default
// of the same name; "NAME:" removes it.
func Text(token, what, body string, headers ...string) string {
	set := []string{"Host: localhost", "Authorization: Bearer " + token}
	if body != "" {
		set = append(set, "Content-Type: application/json", fmt.Sprintf("Content-Length: %d", len(body)))
	}
	for _, h := range headers {
		name, _, _ := strings.Cut(h, ":")
		set = slices.DeleteFunc(set, func(s string) bool { return strings.HasPrefix(s, name+":") })
	}
	set = append(set, headers...)
	set = slices.DeleteFunc(set, func(s string) bool { return strings.HasSuffix(s, ":") && !strings.Contains(s, ": ") })
	return what + " HTTP/1.1\r\n" + strings.Join(set, "\r\n") + "\r\n\r\n" + body
}

// Send sends a request and returns the response with its body in memory.
func Send(address, text string) (*http.Response, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	go io.WriteString(c, text) // the server may refuse before it has read all
	method, _, _ := strings.Cut(text, " ")
	r, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r, err
}

// text builds a request with the token for everything.
type text func(what, body string, headers ...string) string

func long(n int) string { return strings.Repeat("a", n) }

// Requests returns requests that are wrong in one way each. The server needs a space mail, no
// space other, and the limits above.
func Requests(t Tokens) []Request {
	raw := func(what, body string, headers ...string) string { return Text(t.All, what, body, headers...) }
	return slices.Concat(lines(raw), hosts(raw), callers(raw, t), headers(raw), bodies(raw), queries(raw))
}

// lines are wrong in the request line.
func lines(raw text) []Request {
	return []Request{
		{"no such path", raw("GET /v1/nothing", ""), 404, "no_operation"},
		{"a method that the page does not know", raw("DELETE /", ""), 405, "method_not_allowed"},
		{"a file that the page has not", raw("GET /page/passwd", ""), 404, "not_found"},
		{"a folder of the page", raw("GET /page/", ""), 404, "no_operation"},
		{"a folder below the page's", raw("GET /page/a/page.css", ""), 404, "no_operation"},
		{"a file beside the page's", raw("GET /page/..%2fpage.go", ""), 400, "bad_path"},
		{"a file above the page's", raw("GET /page/%2e%2e", ""), 400, "bad_path"},
		{"PHP", raw("GET /index.php", ""), 404, "no_operation"},
		{"a slash at the end", raw("GET /v1/spaces/", ""), 404, "no_operation"},
		{"two slashes", raw("GET /v1//spaces", ""), 404, "no_operation"},
		{"two slashes first", raw("GET //evil.example/v1/spaces", ""), 404, "no_operation"},
		{"other case", raw("GET /V1/SPACES", ""), 404, "no_operation"},
		{"dots", raw("GET /v1/spaces/../config", ""), 400, "bad_path"},
		{"one dot", raw("GET /v1/./spaces", ""), 400, "bad_path"},
		{"dots, encoded", raw("GET /v1/spaces/%2e%2e/config", ""), 400, "bad_path"},
		{"dots, half encoded", raw("GET /v1/spaces/.%2E", ""), 400, "bad_path"},
		{"dots as a name", raw("DELETE /v1/spaces/%2e%2e", ""), 400, "bad_path"},
		{"a slash, encoded", raw("GET /v1/spaces/a%2fb", ""), 400, "bad_path"},
		{"a slash and dots, encoded", raw("GET /v1/spaces/..%2f..%2fetc%2fpasswd", ""), 400, "bad_path"},
		{"backslashes", raw(`GET /v1/spaces/..\..\config`, ""), 400, "bad_path"},
		{"NUL", raw("GET /v1/spaces/mail%00", ""), 400, "bad_path"},
		{"a line break in the path", raw("GET /v1/spaces/mail%0d%0aX-Evil:1", ""), 400, "bad_path"},
		{"DEL", raw("GET /v1/spaces/mail%7f", ""), 400, "bad_path"},
		{"a path that is not UTF-8", raw("GET /v1/spaces/%ff%fe", ""), 400, "bad_path"},
		{"an overlong slash", raw("GET /v1/spaces/a%c0%afb", ""), 400, "bad_path"},
		{"encoded twice", raw("GET /v1/spaces/%252e%252e", ""), 400, "invalid"},
		{"a broken escape", raw("GET /v1/spaces/%zz", ""), 400, ""},
		{"a long name", raw("GET /v1/spaces/"+long(300), ""), 400, "invalid"},
		{"a longer path", raw("GET /v1/spaces/"+long(9000), ""), 414, "uri_too_long"},
		{"a long query", raw("GET "+space+"/entries/search?q="+long(9000), ""), 414, "uri_too_long"},
		{"a query for itself", raw("GET ?", ""), 400, ""},
		{"another host's path", raw("GET http://evil.example/v1/spaces", ""), 403, "bad_host"},
		{"a star", raw("OPTIONS *", ""), 400, "bad_path"},
		{"a tunnel", raw("CONNECT evil.example:443", ""), 403, "bad_host"},
		{"an unknown method", raw("BREW "+space, ""), 405, "method_not_allowed"},
		{"a known method elsewhere", raw("PUT "+space, ""), 405, "method_not_allowed"},
		{"TRACE", raw("TRACE "+space, ""), 405, "method_not_allowed"},
		{"OPTIONS without a page", raw("OPTIONS "+space, ""), 405, "method_not_allowed"},
		{"HEAD of a stream", raw("HEAD /v1/events", ""), 405, ""},
		{"another protocol", strings.Replace(raw("GET "+space, ""), "HTTP/1.1", "HTTP/9.9", 1), 505, ""},
		{"no HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, ""},
	}
}

// hosts have a wrong Host or Origin.
func hosts(raw text) []Request {
	return []Request{
		{"no host", raw("GET "+space, "", "Host:"), 400, ""},
		{"no host, HTTP/1.0", strings.Replace(raw("GET "+space, "", "Host:"), "HTTP/1.1", "HTTP/1.0", 1), 403, "bad_host"},
		{"a rebound name", raw("GET "+space, "", "Host: evil.example"), 403, "bad_host"},
		{"a rebound name and port", raw("GET "+space, "", "Host: evil.example:7337"), 403, "bad_host"},
		{"a name that begins well", raw("GET "+space, "", "Host: localhost.evil.example"), 403, "bad_host"},
		{"an address that begins well", raw("GET "+space, "", "Host: 127.0.0.1.evil.example"), 403, "bad_host"},
		{"another loopback address", raw("GET "+space, "", "Host: 127.1"), 403, "bad_host"},
		{"the address of all", raw("GET "+space, "", "Host: 0.0.0.0:7337"), 403, "bad_host"},
		{"a user before the host", raw("GET "+space, "", "Host: localhost@evil.example"), 400, ""},
		{"a port that is none", raw("GET "+space, "", "Host: localhost:evil"), 403, "bad_host"},
		{"an empty port", raw("GET "+space, "", "Host: localhost:"), 403, "bad_host"},
		{"brackets", raw("GET "+space, "", "Host: [localhost]"), 403, "bad_host"},
		{"no brackets", raw("GET "+space, "", "Host: ::1"), 403, "bad_host"},
		{"a dot at the end", raw("GET "+space, "", "Host: localhost."), 403, "bad_host"},
		{"two hosts", strings.Replace(raw("GET "+space, ""), "Host: localhost", "Host: localhost\r\nHost: evil.example", 1), 400, ""},
		{"a rebound name, the page", raw("GET /", "", "Host: evil.example"), 403, "bad_host"},
		{"a rebound name, healthz", raw("GET /healthz", "", "Host: evil.example"), 403, "bad_host"},

		{"a foreign page", raw("GET "+space, "", "Origin: https://evil.example"), 403, "bad_origin"},
		{"a page of nobody", raw("GET "+space, "", "Origin: null"), 403, "bad_origin"},
		{"a page on another port", raw("GET "+space, "", "Origin: http://localhost:3000"), 403, "bad_origin"},
		{"a page under another scheme", raw("GET "+space, "", "Origin: https://localhost"), 403, "bad_origin"},
		{"a page with a name that begins well", raw("GET "+space, "", "Origin: http://localhost.evil.example"), 403, "bad_origin"},
		{"an empty origin", raw("GET "+space, "", "Origin: "), 403, "bad_origin"},
		{"two origins", strings.Replace(raw("GET "+space, "", "Origin: http://localhost"), "Origin", "Origin: http://evil.example\r\nOrigin", 1), 403, "bad_origin"},
		{"a preflight from a foreign page", raw("OPTIONS "+space, "", "Origin: https://evil.example", "Access-Control-Request-Method: DELETE"), 403, "bad_origin"},
		{"an image on a foreign page", raw("GET /healthz", "", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"), 403, "bad_origin"},
		{"a foreign page loads the page", raw("GET /", "", "Origin: https://evil.example"), 403, "bad_origin"},
		{"the page in a foreign frame", raw("GET /", "", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"), 403, "bad_origin"},
		{"the page as an image", raw("GET /", "", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"), 403, "bad_origin"},
		{"a link to the page's file", raw("GET /page/page.css", "", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"), 403, "bad_origin"},
		{"a link to data", raw("GET /v1/spaces", "", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"), 403, "bad_origin"},
		{"a link that posts", raw("POST /", "", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"), 403, "bad_origin"},
		{"a form on a foreign page", raw(ask, "a=b", "Origin: https://evil.example", "Content-Type: application/x-www-form-urlencoded"), 403, "bad_origin"},
	}
}

// callers lack a required right.
func callers(raw text, t Tokens) []Request {
	return []Request{
		{"no token", raw("GET "+space, "", "Authorization:"), 401, "unauthorized"},
		{"an empty token", raw("GET "+space, "", "Authorization: Bearer "), 401, "unauthorized"},
		{"a wrong token", raw("GET "+space, "", "Authorization: Bearer pc_wrong"), 401, "unauthorized"},
		{"a token and more", raw("GET "+space, "", "Authorization: Bearer "+t.All+" x"), 401, "unauthorized"},
		{"a token cut short", raw("GET "+space, "", "Authorization: Bearer "+t.All[:6]), 401, "unauthorized"},
		{"a long token", raw("GET "+space, "", "Authorization: Bearer "+long(20000)), 401, "unauthorized"},
		{"another scheme", raw("GET "+space, "", "Authorization: Basic "+t.All), 401, "unauthorized"},
		{"no scheme", raw("GET "+space, "", "Authorization: "+t.All), 401, "unauthorized"},
		{"two tokens", strings.Replace(raw("GET "+space, ""), "Authorization", "Authorization: Bearer x\r\nAuthorization", 1), 401, "unauthorized"},
		{"a token in the query", raw("GET "+space+"?access_token="+t.All, "", "Authorization:"), 401, "unauthorized"},
		{"a token in a cookie", raw("GET "+space, "", "Authorization:", "Cookie: token="+t.All), 401, "unauthorized"},
		{"another space", raw("GET /v1/spaces/other", "", "Authorization: Bearer "+t.MailAdmin), 403, "forbidden"},
		{"another space, encoded", raw("GET /v1/spaces/%6fther", "", "Authorization: Bearer "+t.MailAdmin), 403, "forbidden"},
		{"another space in the body", raw("POST /v1/spaces/mail/ask", `{"question":"when?","Space":"other"}`, "Authorization: Bearer "+t.MailAsk), 400, "invalid"},
		{"too small a role", raw("DELETE "+space, "", "Authorization: Bearer "+t.Write), 403, "forbidden"},
		{"the whole with a token of one space", raw("GET /v1/config", "", "Authorization: Bearer "+t.MailAdmin), 403, "forbidden"},
	}
}
