package refdoc

import (
	"go/ast"
	"reflect"
	"slices"
	"testing"

	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/session"
)

// TestExamplesUseEveryCall holds a program to each half of the session interface: it has every method and callback. The
// test goes by the name that a value of the type has there.
func TestExamplesUseEveryCall(t *testing.T) {
	named := []string{"Named"} // the other half
	wantUses(t, "fleetclient", "client", named, methods(reflect.TypeFor[*session.Client]()))
	wantUses(t, "lan", "games", nil, methods(reflect.TypeFor[*session.NamedSessions]()))
	wantUses(t, "sessionserver", "host", nil, methods(reflect.TypeFor[*gameserver.Host]()))
	var callbacks []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[gameserver.SessionCallbacks]()) {
		callbacks = append(callbacks, field.Name)
	}
	wantUses(t, "sessionserver", "SessionCallbacks", nil, callbacks)
}

func methods(of reflect.Type) (names []string) {
	for i := range of.NumMethod() {
		names = append(names, of.Method(i).Name)
	}
	return names
}

func wantUses(t *testing.T, program, of string, except, names []string) {
	t.Helper()
	used := uses(t, "examples/"+program)
	for _, name := range names {
		if !used[of+"."+name] && !slices.Contains(except, name) {
			t.Errorf("examples/%s does not use %s.%s", program, of, name)
		}
	}
}

// uses has the selectors and the fields of composite literals in a program, as "last name before the point.name":
// "host.Close" for r.host.Close, "SessionCallbacks.OnDestroySessionEnd".
func uses(t *testing.T, program string) map[string]bool {
	used := make(map[string]bool)
	for _, file := range parsed(t, program) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				used[lastName(n.X)+"."+n.Sel.Name] = true
			case *ast.CompositeLit:
				for _, e := range n.Elts {
					if field, ok := e.(*ast.KeyValueExpr); ok {
						used[lastName(n.Type)+"."+lastName(field.Key)] = true
					}
				}
			}
			return true
		})
	}
	return used
}

// lastName is the last name in an expression; "" without one.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
