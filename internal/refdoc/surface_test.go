package refdoc

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// libraries are the packages that games import.
var libraries = []string{
	"session", "session/direct", "session/gateway", "session/lan", "session/sessiontest",
	"gameserver", "gamenet", "gamenet/handshake", "gamenet/netmetrics", "gamenet/quic",
}

// maxExported is the maximum number of exported identifiers of all libraries. See docs/decisions/0073-surface.md.
const maxExported = 420

// TestSurface counts what games can see of the libraries: package-level names, and methods of exported types.
func TestSurface(t *testing.T) {
	total, list := 0, ""
	for _, dir := range libraries {
		n := 0
		for _, file := range parsed(t, dir) {
			for _, d := range file.Decls {
				n += exported(d)
			}
		}
		total += n
		list += fmt.Sprintf("\n%4d %s", n, dir)
	}
	if total > maxExported {
		t.Errorf("the libraries export %d identifiers, at most %d are allowed:%s", total, maxExported, list)
	}
}

// parsed returns the syntax of a package's files, without its tests.
func parsed(t *testing.T, dir string) (all []*ast.File) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no files: %v", dir, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, file)
	}
	return all
}

// exported counts the exported identifiers of a declaration.
func exported(d ast.Decl) (n int) {
	count := func(names ...*ast.Ident) {
		for _, name := range names {
			if name.IsExported() {
				n++
			}
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || receiver(d.Recv.List[0].Type).IsExported() {
			count(d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				count(s.Name)
			case *ast.ValueSpec:
				count(s.Names...)
			}
		}
	}
	return n
}

// receiver returns the name of the type of a method.
func receiver(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	}
	return e.(*ast.Ident)
}
