package page

import (
	"embed"
	"path"
)

// Policy is the Content-Security-Policy of the page.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const index = "index.html"

//go:embed index.html *.css *.js icon.svg
var files embed.FS

// File is one file of the page.
type File struct {
	Content []byte
	Type    string // its Content-Type
}

// Index returns the page itself.
func Index() File {
	f, _ := read(index)
	return f
}

// Named returns a file of the page, and false if there is none of this name.
func Named(name string) (File, bool) {
	if name == index {
		return File{}, false // served at / only
	}
	return read(name)
}

func read(name string) (File, bool) {
	content, err := files.ReadFile(name)
	if err != nil {
		return File{}, false
	}
	return File{content, types(path.Ext(name))}, true
}

// types returns the Content-Type of a file. The system's table differs between machines.
func types(ending string) string {
	switch ending {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "text/html; charset=utf-8"
}
