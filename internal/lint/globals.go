package lint

import (
	"go/ast"
	"strings"
)

// globals: no package-level state. A package variable is allowed if it never changes: an error,
// an embedded file, a value made by a function known to be deterministic, an interface
// assertion, or an unexported table that the package never writes to. internal/base/kv may also
// use go:linkname to reach another module's variable.
func globals(t *Tree, report Report) {
	writes := map[string]map[string]bool{} // folder → names that are written to somewhere
	t.code(func(f *File) {
		set := writes[f.Folder()]
		if set == nil {
			set = map[string]bool{}
			writes[f.Folder()] = set
		}
		ast.Inspect(f.Go, func(n ast.Node) bool {
			written(n, func(id *ast.Ident) { set[id.Name] = true })
			return true
		})
	})
	t.code(func(f *File) {
		for _, d := range f.Go.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range decl.Specs {
				v, ok := s.(*ast.ValueSpec)
				if !ok || decl.Tok.String() != "var" || directed(decl.Doc, "embed") || directed(v.Doc, "embed") {
					continue
				}
				if f.Folder() == "internal/base/kv" && directed(decl.Doc, "linkname") {
					continue
				}
				for i, id := range v.Names {
					if id.Name != "_" && !constant(v, i, writes[f.Folder()]) {
						report(f.Path, t.line(id), "%s is package state; pass it as an argument, or make it a table that is never written", id.Name)
					}
				}
			}
		}
	})
}

// constant says whether the i-th variable of a declaration is allowed, given the names that its
// package writes to.
func constant(v *ast.ValueSpec, i int, writes map[string]bool) bool {
	id := v.Names[i]
	if len(v.Values) != len(v.Names) || writes[id.Name] {
		return false
	}
	fixed := !id.IsExported()
	switch x := v.Values[i].(type) {
	case *ast.CompositeLit:
		// A lock, a pool or an atomic is state even if no field is assigned.
		lock := strings.HasPrefix(selector(x.Type), "sync.") || strings.HasPrefix(selector(x.Type), "atomic.")
		return fixed && !lock
	case *ast.CallExpr:
		if _, bytes := x.Fun.(*ast.ArrayType); bytes { // []byte("...")
			return fixed
		}
		switch selector(x.Fun) {
		case "errors.New", "fmt.Errorf", "fault.New", "regexp.MustCompile", "crc32.MakeTable", "crc64.MakeTable",
			"strings.NewReplacer", "strings.Fields", "strings.Split", "sync.OnceFunc", "sync.OnceValue", "sync.OnceValues",
			"math.Inf", "math.NaN", "math.Float32frombits":
			return true
		}
	}
	return false
}

// directed says whether a declaration has a compiler directive.
func directed(doc *ast.CommentGroup, directive string) bool {
	if doc == nil {
		return false
	}
	for _, c := range doc.List {
		if strings.HasPrefix(c.Text, "//go:"+directive+" ") {
			return true
		}
	}
	return false
}
