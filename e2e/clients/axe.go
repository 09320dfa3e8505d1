package clients

import (
	"os"
	"testing"
)

// Axe returns the source of axe-core, a script that finds what makes a page hard to use for people with disabilities.
func Axe(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(installed(t, "js/node_modules/axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
