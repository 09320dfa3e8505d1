package main

import (
	"strings"
	"testing"
)

func TestSettingsAreListedOnce(t *testing.T) {
	page := string(must(t, settingsPage))
	for _, name := range []string{"data", "listen", "health-interval", "tls-names"} {
		if n := strings.Count(page, "| `"+name+"` |"); n != 1 {
			t.Errorf("setting %s is listed %d times, want once", name, n)
		}
	}
}
