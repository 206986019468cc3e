package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wrongRequest is a request that is wrong in one way, with the expected problem.
type wrongRequest struct {
	name string
	text string // as it goes over the wire
	want wrongAnswer
}

// wrongAnswer is the expected status, problem and field.
type wrongAnswer struct {
	Status  int
	Problem string
	Field   string // the first that is named
}

func (a answer) wrong() wrongAnswer {
	w := wrongAnswer{a.StatusCode, a.name(), ""}
	if len(a.problem.Errors) > 0 {
		w.Field = a.problem.Errors[0].Field
	}
	return w
}

func wrongUploads(t testing.TB) []wrongRequest {
	long := func(n int) string { return strings.Repeat("a", n) }
	documents := func(list string, headers ...string) string {
		return raw(uploadPath, `{"documents":[`+list+`]}`, headers...)
	}
	file := func(query string, headers ...string) string {
		return raw(uploadPath+query, "text", append([]string{"Content-Type: text/plain"}, headers...)...)
	}
	multi := func(body string) string {
		return raw(uploadPath, body, "Content-Type: multipart/form-data; boundary=b")
	}
	part := func(headers ...string) string {
		body, kind := partWith(t, "text", headers...)
		return raw(uploadPath, body, "Content-Type: "+kind)
	}
	named := func(name string) string { return part("Content-Disposition: form-data; name=f; filename=" + name) }
	files := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "--b\r\nContent-Disposition: form-data; filename=%d\r\n\r\n\r\n", i)
		}
		return multi(b.String() + "--b--\r\n")
	}
	one := "--b\r\nContent-Disposition: form-data; filename=a.txt\r\n\r\ntext\r\n"
	return []wrongRequest{
		// What is said beside the body.
		{"an unknown parameter", file("?name=a&x=1"), wrongAnswer{400, "invalid", "query:x"}},
		{"neither true nor false", file("?name=a&wait=1"), wrongAnswer{400, "invalid", "query:wait"}},
		{"true in capitals", file("?name=a&wait=TRUE"), wrongAnswer{400, "invalid", "query:wait"}},
		{"wait without a value", file("?name=a&wait"), wrongAnswer{400, "invalid", "query:wait"}},
		{"wait twice", file("?name=a&wait=true&wait=false"), wrongAnswer{400, "invalid", "query:wait"}},
		{"a space's name", raw("POST /v1/spaces/MAIL/documents?name=a", "x", "Content-Type: text/plain"), wrongAnswer{400, "invalid", "path:space"}},
		{"an empty key", file("?name=a", "Idempotency-Key: "), wrongAnswer{400, "invalid", "header:Idempotency-Key"}},
		{"a key of two words", file("?name=a", "Idempotency-Key: a b"), wrongAnswer{400, "invalid", "header:Idempotency-Key"}},
		{"a key of other letters", file("?name=a", "Idempotency-Key: ü"), wrongAnswer{400, "invalid", "header:Idempotency-Key"}},
		{"a long key", file("?name=a", "Idempotency-Key: "+long(129)), wrongAnswer{400, "invalid", "header:Idempotency-Key"}},
		{"two keys", file("?name=a", "Idempotency-Key: a\r\nIdempotency-Key: a"), wrongAnswer{400, "invalid", "header:Idempotency-Key"}},
		{"compressed on the way", file("?name=a", "Content-Encoding: gzip"), wrongAnswer{415, "media_type", ""}},
		{"compressed twice on the way", file("?name=a", "Content-Encoding: identity, br"), wrongAnswer{415, "media_type", ""}},
		{"compressed documents", documents(`{"text":"a"}`, "Content-Encoding: deflate"), wrongAnswer{415, "media_type", ""}},
		{"a type that is none", file("?name=a", "Content-Type: text"+"/"), wrongAnswer{415, "media_type", ""}},
		{"an unknown charset", file("?name=a", "Content-Type: text/plain; charset=runes"), wrongAnswer{415, "media_type", ""}},
		{"a part of an unknown charset", multi(strings.Replace(one, "\r\n\r\n", "\r\nContent-Type: text/plain; charset=runes\r\n\r\n", 1) + "--b--\r\n"), wrongAnswer{400, "invalid", "/0"}},
		{"two types", file("?name=a", "Content-Type: text/plain\r\nContent-Type: text/html"), wrongAnswer{415, "media_type", ""}},
		{"another multipart", raw(uploadPath, one+"--b--", "Content-Type: multipart/mixed; boundary=b"), wrongAnswer{415, "media_type", ""}},
		{"documents in another charset", documents(`{"text":"a"}`, "Content-Type: application/json; charset=latin1"), wrongAnswer{415, "media_type", ""}},
		{"too small a role", file("?name=a", "Authorization: Bearer "+askToken), wrongAnswer{403, "forbidden", ""}},
		{"another space", raw("POST /v1/spaces/other/documents?name=a", "x", "Content-Type: text/plain", "Authorization: Bearer "+mailAdminToken), wrongAnswer{403, "forbidden", ""}},

		// A file that is the whole body.
		{"no name", file(""), wrongAnswer{400, "invalid", "query:name"}},
		{"a path upwards", file("?name=notes/../../etc/passwd"), wrongAnswer{400, "invalid", "query:name"}},
		{"a path upwards on another system", file("?name=notes%5C..%5Ca"), wrongAnswer{400, "invalid", "query:name"}},
		{"a path upwards from a header", file("", "Content-Disposition: attachment; filename=\"../a\""), wrongAnswer{400, "invalid", "header:Content-Disposition"}},
		{"the root", file("?name=/"), wrongAnswer{400, "invalid", "query:name"}},
		{"this folder", file("?name=notes/."), wrongAnswer{400, "invalid", "query:name"}},
		{"a name of dots", file("?name=.."), wrongAnswer{400, "invalid", "query:name"}},
		{"a folder", file("?name=mail/"), wrongAnswer{400, "invalid", "query:name"}},
		{"a line break in a name", file("?name=a%0ab"), wrongAnswer{400, "invalid", "query:name"}},
		{"a control character of the second kind", file("?name=a%c2%85b"), wrongAnswer{400, "invalid", "query:name"}},
		{"a NUL in a name", file("?name=a%00b"), wrongAnswer{400, "invalid", "query:name"}},
		{"a name that is not UTF-8", file("?name=a%ffb"), wrongAnswer{400, "invalid", "query:name"}},
		{"a long name", file("?name=" + long(1001)), wrongAnswer{400, "invalid", "query:name"}},
		{"a broken disposition", file("", "Content-Disposition: ;;"), wrongAnswer{400, "invalid", "header:Content-Disposition"}},
		{"a disposition without a name", file("", "Content-Disposition: attachment"), wrongAnswer{400, "invalid", "header:Content-Disposition"}},
		{"no body", raw(uploadPath+"?name=a", ""), wrongAnswer{400, "bad_body", ""}},
		{"no body in chunks", raw(uploadPath+"?name=a", "0\r\n\r\n", "Content-Type: text/plain", "Content-Length:", "Transfer-Encoding: chunked"), wrongAnswer{400, "bad_body", ""}},
		{"broken chunks", raw(uploadPath+"?name=a", "4\r\ntext\r\nzz\r\n", "Content-Type: text/plain", "Content-Length:", "Transfer-Encoding: chunked"), wrongAnswer{400, "bad_body", ""}},
		{"too large, it says", file("?name=a", "Content-Length: 99999999"), wrongAnswer{413, "too_large", ""}},
		{"too large", raw(uploadPath+"?name=a", "100000\r\n"+long(1<<20)+"\r\n0\r\n\r\n", "Content-Type: text/plain", "Content-Length:", "Transfer-Encoding: chunked"), wrongAnswer{413, "too_large", ""}},

		// Documents.
		{"a name for documents", raw(uploadPath+"?name=a", `{"documents":[{"text":"a"}]}`), wrongAnswer{400, "invalid", "query:name"}},
		{"empty", raw(uploadPath, " "), wrongAnswer{400, "bad_body", ""}},
		{"not JSON", raw(uploadPath, "hello"), wrongAnswer{400, "bad_body", ""}},
		{"a list", raw(uploadPath, `[{"text":"a"}]`), wrongAnswer{400, "invalid", ""}},
		{"null", raw(uploadPath, "null"), wrongAnswer{400, "invalid", ""}},
		{"no documents", raw(uploadPath, "{}"), wrongAnswer{400, "invalid", "/documents"}},
		{"no documents in the list", documents(""), wrongAnswer{400, "invalid", "/documents"}},
		{"documents that are none", raw(uploadPath, `{"documents":{"text":"a"}}`), wrongAnswer{400, "invalid", "/documents"}},
		{"another field before", raw(uploadPath, `{"space":"a","documents":[{"text":"a"}]}`), wrongAnswer{400, "invalid", ""}},
		{"another field behind", raw(uploadPath, `{"documents":[{"text":"a"}],"x":1}`), wrongAnswer{400, "invalid", ""}},
		{"documents twice", raw(uploadPath, `{"documents":[{"text":"a"}],"documents":[]}`), wrongAnswer{400, "invalid", ""}},
		{"more behind", raw(uploadPath, `{"documents":[{"text":"a"}]} {}`), wrongAnswer{400, "bad_body", ""}},
		{"broken off behind a document", raw(uploadPath, `{"documents":[{"text":"a"}`), wrongAnswer{400, "bad_body", ""}},
		{"broken off behind a comma", raw(uploadPath, `{"documents":[{"text":"a"},`), wrongAnswer{400, "bad_body", ""}},
		{"broken off before the brace", raw(uploadPath, `{"documents":[{"text":"a"}]`), wrongAnswer{400, "bad_body", ""}},
		{"a comma too many", documents(`{"text":"a"},`), wrongAnswer{400, "bad_body", ""}},
		{"a brace for a bracket", raw(uploadPath, `{"documents":[{"text":"a"}}}`), wrongAnswer{400, "bad_body", ""}},
		{"a document that is text", documents(`{"text":"a"},"b"`), wrongAnswer{400, "invalid", "/documents/1"}},
		{"a document that is null", documents(`null`), wrongAnswer{400, "invalid", "/documents/0"}},
		{"a document without text", documents(`{"text":"a"},{"text":"b"},{"text":"c"},{"title":"d"}`), wrongAnswer{400, "invalid", "/documents/3/text"}},
		{"a document of spaces", documents(`{"text":"\n "}`), wrongAnswer{400, "invalid", "/documents/0/text"}},
		{"a text that is a number", documents(`{"text":1}`), wrongAnswer{400, "invalid", "/documents/0/text"}},
		{"an unknown field", documents(`{"text":"a","body":"b"}`), wrongAnswer{400, "invalid", "/documents/0/body"}},
		{"a field in capitals", documents(`{"Text":"a"}`), wrongAnswer{400, "invalid", "/documents/0/Text"}},
		{"a field twice", documents(`{"text":"a","text":"b"}`), wrongAnswer{400, "invalid", "/documents/0/text"}},
		{"a field with a slash", documents(`{"text":"a","a/b~":1}`), wrongAnswer{400, "invalid", "/documents/0/a~1b~0"}},
		{"a blank key", documents(`{"key":" ","text":"a"}`), wrongAnswer{400, "invalid", "/documents/0/key"}},
		{"a long document key", documents(`{"key":"` + long(1001) + `","text":"a"}`), wrongAnswer{400, "invalid", "/documents/0/key"}},
		{"a control character in a key", documents(`{"key":"a\u0007","text":"a"}`), wrongAnswer{400, "invalid", "/documents/0/key"}},
		{"a date in words", documents(`{"text":"a","date":"yesterday"}`), wrongAnswer{400, "invalid", "/documents/0/date"}},
		{"a day that is none", documents(`{"text":"a","date":"2025-02-30"}`), wrongAnswer{400, "invalid", "/documents/0/date"}},
		{"a date before all", documents(`{"text":"a","date":"1812-01-01"}`), wrongAnswer{400, "invalid", "/documents/0/date"}},
		{"a zone of nowhere", documents(`{"text":"a","date":"2025-03-20T10:00:00+20:00"}`), wrongAnswer{400, "invalid", "/documents/0/date"}},
		{"a document that is not UTF-8", documents("{\"text\":\"\xff\"}"), wrongAnswer{400, "invalid", "/documents/0"}},
		{"a large document", documents(`{"text":"a"},{"text":"` + long(9<<10) + `"}`), wrongAnswer{413, "too_large", "/documents/1"}},
		{"a larger document", documents(`{"text":"a"},{"text":"` + long(90<<10) + `"}`), wrongAnswer{413, "too_large", "/documents/1"}},
		{"a large name of a field", raw(uploadPath, `{"`+long(90<<10)+`":1}`), wrongAnswer{413, "too_large", ""}},
		{"nothing but spaces", raw(uploadPath, strings.Repeat(" ", 90<<10)), wrongAnswer{413, "too_large", ""}},
		{"deep", documents(`{"text":` + strings.Repeat("[", 3000) + strings.Repeat("]", 3000) + `}`), wrongAnswer{400, "invalid", "/documents/0"}},
		{"too many documents", documents(strings.Repeat(`{"text":"`+long(500)+`"},`, 2100) + `{"text":"a"}`), wrongAnswer{413, "too_large", ""}},

		// Files.
		{"a name for files", raw(uploadPath+"?name=a", one+"--b--\r\n", "Content-Type: multipart/form-data; boundary=b"), wrongAnswer{400, "invalid", "query:name"}},
		{"no boundary", raw(uploadPath, one+"--b--\r\n", "Content-Type: multipart/form-data"), wrongAnswer{400, "invalid", "header:Content-Type"}},
		{"a long boundary", raw(uploadPath, one, "Content-Type: multipart/form-data; boundary="+long(71)), wrongAnswer{400, "invalid", "header:Content-Type"}},
		{"another boundary", raw(uploadPath, one+"--b--\r\n", "Content-Type: multipart/form-data; boundary=c"), wrongAnswer{400, "invalid", "/0"}},
		{"nothing", multi(""), wrongAnswer{400, "invalid", "/0"}},
		{"no part", multi("--b--\r\n"), wrongAnswer{400, "invalid", ""}},
		{"text before the first part alone", multi("hello"), wrongAnswer{400, "invalid", "/0"}},
		{"much before the first part", multi(strings.Repeat("hello\r\n", 10000) + one + "--b--\r\n"), wrongAnswer{400, "invalid", "/0"}},
		{"the end is missing", multi(one), wrongAnswer{400, "invalid", "/0"}},
		{"the end is half there", multi(one + "--b-"), wrongAnswer{400, "invalid", "/0"}},
		{"it ends in a file", multi(one + strings.TrimSuffix(one, "\r\n")), wrongAnswer{400, "invalid", "/1"}},
		{"it ends in a header", multi(one + "--b\r\nContent-Dispo"), wrongAnswer{400, "invalid", "/1"}},
		{"it ends in a header that is right so far", multi(one + "--b\r\nContent-Disposition: form-data; filename=b.txt"), wrongAnswer{400, "invalid", "/1"}},
		{"it ends behind a header", multi(one + "--b\r\nContent-Disposition: form-data; filename=b.txt\r\n"), wrongAnswer{400, "invalid", "/1"}},
		{"it ends behind a boundary", multi(one + "--b\r\n"), wrongAnswer{400, "invalid", "/1"}},
		{"lines between the parts", multi(one + "--b x\r\n" + one + "--b--\r\n"), wrongAnswer{400, "invalid", "/1"}},
		{"a header that is none", multi("--b\r\nhello\r\n\r\ntext\r\n--b--\r\n"), wrongAnswer{400, "invalid", "/0"}},
		{"a large header", part("Content-Disposition: form-data; filename=a", "X-Large: "+long(20<<10)), wrongAnswer{400, "invalid", "/0"}},
		{"many headers", multi("--b\r\n" + strings.Repeat("X-A: b\r\n", 5000) + "\r\n\r\n--b--\r\n"), wrongAnswer{400, "invalid", "/0"}},
		{"a field", part("Content-Disposition: form-data; name=title"), wrongAnswer{400, "invalid", "/0"}},
		{"a field behind a file", multi(one + "--b\r\nContent-Disposition: form-data; name=x\r\n\r\n1\r\n--b--\r\n"), wrongAnswer{400, "invalid", "/1"}},
		{"no disposition", part("Content-Type: text/plain"), wrongAnswer{400, "invalid", "/0"}},
		{"a broken part disposition", part(`Content-Disposition: form-data; filename="a`), wrongAnswer{400, "invalid", "/0"}},
		{"two file names", part(`Content-Disposition: form-data; filename=a; filename=b`), wrongAnswer{400, "invalid", "/0"}},
		{"no file was chosen", named(`""`), wrongAnswer{400, "invalid", "/0"}},
		{"a folder as a file", named(`"a/"`), wrongAnswer{400, "invalid", "/0"}},
		{"the folder above", named(`"../.."`), wrongAnswer{400, "invalid", "/0"}},
		{"a bell in a file's name", named("\"a\a\""), wrongAnswer{400, "invalid", "/0"}},
		{"a line break in a file's name", part("Content-Disposition: form-data; filename*=UTF-8''a%0D%0Ab"), wrongAnswer{400, "invalid", "/0"}},
		{"a long file name", named(long(1001)), wrongAnswer{400, "invalid", "/0"}},
		{"the same name twice", multi(one + one + "--b--\r\n"), wrongAnswer{400, "invalid", "/1"}},
		{"the same name twice, in other words", multi(strings.Replace(one, "a.txt", `"dir/a.txt"`, 1) + strings.Replace(one, "a.txt", `"./dir//a.txt"`, 1) + "--b--\r\n"), wrongAnswer{400, "invalid", "/1"}},
		{"the same name twice, as another system has it", multi(strings.Replace(one, "a.txt", `"dir/a.txt"`, 1) + strings.Replace(one, "a.txt", `"dir\\a.txt"`, 1) + "--b--\r\n"), wrongAnswer{400, "invalid", "/1"}},
		{"parts within parts", part("Content-Disposition: form-data; filename=a", "Content-Type: Multipart/Mixed; boundary=c"), wrongAnswer{400, "invalid", "/0"}},
		{"base64", part("Content-Disposition: form-data; filename=a", "Content-Transfer-Encoding: base64"), wrongAnswer{400, "invalid", "/0"}},
		{"quoted-printable that is none", multi(strings.Replace(one, "\r\n\r\ntext", "\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\x01", 1) + "--b--\r\n"), wrongAnswer{400, "invalid", "/0"}},
		{"files too large together", multi(strings.Replace(one, "text", long(1<<20), 1) + "--b--\r\n"), wrongAnswer{413, "too_large", ""}},
		{"much behind the last part", multi(one + "--b--\r\n" + long(1<<20)), wrongAnswer{413, "too_large", ""}},
		{"too many files", files(maxParts + 1), wrongAnswer{400, "invalid", ""}},
	}
}

// Each wrong upload has its answer, and nothing of it is kept.
func TestUploadWrong(t *testing.T) {
	for _, tt := range wrongUploads(t) {
		t.Run(tt.name, func(t *testing.T) {
			in := &intake{}
			srv := testServer(t, in.backend(), func(o *Options) { o.MaxBody, o.MaxUpload = 1<<10, 1<<20-1 })
			a := exchangeRaw(t, srv, tt.text)
			if diff := cmp.Diff(tt.want, a.wrong()); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, a.text)
			}
			if uploads, _ := in.kept(); len(uploads) > 0 {
				t.Error("something of it was kept")
			}
		})
	}
}
