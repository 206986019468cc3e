package lint

import (
	"go/ast"
	"go/token"
)

// exportedDoc: every exported name has a comment. Methods that the standard library defines
// need none.
func exportedDoc(t *Tree, report Report) {
	t.code(func(f *File) {
		if f.Go.Name.Name == "main" {
			return
		}
		for _, d := range f.Go.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) && !wellKnown(d) {
					report(f.Path, t.line(d), "%s has no comment", d.Name.Name)
				}
			case *ast.GenDecl:
				exportedSpecs(d, func(id *ast.Ident) { report(f.Path, t.line(id), "%s has no comment", id.Name) })
			}
		}
	})
}

// exportedSpecs calls bare for each exported name without a comment of its own or, for
// constants and variables, of its group.
func exportedSpecs(d *ast.GenDecl, bare func(id *ast.Ident)) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc == nil && (d.Doc == nil || d.Lparen.IsValid()) {
				bare(s.Name)
			}
		case *ast.ValueSpec:
			if s.Doc != nil || s.Comment != nil || d.Doc != nil {
				continue
			}
			for _, id := range s.Names {
				if id.IsExported() {
					bare(id)
				}
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

func wellKnown(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return false
	}
	switch d.Name.Name {
	case "String", "Error", "Unwrap", "Is", "As", "Len", "Less", "Swap", "Read", "Write", "Close", "ServeHTTP",
		"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText", "LogValue":
		return true
	}
	return false
}

// noInit: no func init.
func noInit(t *Tree, report Report) {
	t.code(func(f *File) {
		for _, d := range f.Go.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				report(f.Path, t.line(fn), "func init is not allowed; use a constructor")
			}
		}
	})
}

// storedContext: a context is an argument, never a field.
func storedContext(t *Tree, report Report) {
	t.code(func(f *File) {
		ast.Inspect(f.Go, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range s.Fields.List {
				if selector(field.Type) == "context.Context" {
					report(f.Path, t.line(field), "a struct stores a context; pass it as an argument")
				}
			}
			return true
		})
	})
}

// sleep: a test waits for an event and does not sleep. In a bubble of testing/synctest it may
// sleep, because the clock is fake.
func sleep(t *Tree, report Report) {
	for _, f := range t.Files {
		if f.Go == nil || !f.Test() {
			continue
		}
		ast.Inspect(f.Go, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch selector(call.Fun) {
			case "synctest.Test":
				return false
			case "time.Sleep":
				report(f.Path, t.line(call), "a test sleeps; wait for an event instead")
			}
			return true
		})
	}
}

// selector returns "x.Y" for a selector expression, and the name for an identifier.
func selector(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return x.Name + "." + e.Sel.Name
		}
	}
	return ""
}

// root returns the variable at the start of x.f[i].g, or nil.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// written calls visit for each name that a node writes to or takes the address of.
func written(n ast.Node, visit func(id *ast.Ident)) {
	mark := func(e ast.Expr) {
		if id := root(e); id != nil {
			visit(id)
		}
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for _, e := range n.Lhs {
				mark(e)
			}
		}
	case *ast.IncDecStmt:
		mark(n.X)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			mark(n.X)
		}
	case *ast.CallExpr:
		switch selector(n.Fun) {
		case "delete", "clear", "copy":
			mark(n.Args[0])
		}
	}
}
