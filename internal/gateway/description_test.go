package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The description has the operations of the routes, and no other.
func TestRoutesAreDescribed(t *testing.T) {
	var described, served []string
	path := ""
	_, paths, _ := strings.Cut(string(openapi), "\npaths:\n")
	paths, _, _ = strings.Cut(paths, "\ncomponents:\n")
	for line := range strings.Lines(paths) {
		key, isKey := strings.CutSuffix(strings.TrimRight(line, "\n"), ":")
		switch name := strings.TrimLeft(key, " "); {
		case isKey && len(key)-len(name) == 2:
			path = name
		case isKey && len(key)-len(name) == 4 && name != "parameters":
			described = append(described, fmt.Sprintf("%s %s", strings.ToUpper(name), path))
		}
	}
	for i := range routes {
		served = append(served, routes[i].name())
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("described are\n%s\nand served\n%s", strings.Join(described, "\n"), strings.Join(served, "\n"))
	}
}
