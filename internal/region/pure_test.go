package region

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The packages that the linter lists as pure start no goroutines and have no channels. The linter, which forbids
// imports and clocks, has no rule for statements.
func TestPureMachines(t *testing.T) {
	config, err := os.ReadFile("../../.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	rule := regexp.MustCompile(`a pure core has no\s+path-except: \^internal/\((.*)\)/`).FindSubmatch(config)
	if rule == nil {
		t.Fatal("the linter has no list of pure packages")
	}
	for name := range strings.SplitSeq(string(rule[1]), "|") {
		files := 0
		err := filepath.WalkDir(filepath.Join("..", name), func(path string, _ fs.DirEntry, err error) error {
			if path == "../matcher/matchsim" { // the linter excludes it, too: it runs the matcher against a clock
				return filepath.SkipDir
			}
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			return checkPure(t, path)
		})
		if err != nil || files == 0 {
			t.Errorf("package %s: %d files, %v", name, files, err)
		}
	}
}

func checkPure(t *testing.T, path string) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
			t.Errorf("%s: a pure core starts no goroutine and has no channel", set.Position(n.Pos()))
		}
		return true
	})
	return nil
}
