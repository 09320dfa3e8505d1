package journal_test

import (
	"testing"

	"github.com/muster-gg/muster/internal/journal"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		filter, subject string
		want            bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a.b", "a.b", true},
		{"a.b", "a", false},
		{"a", "a.b", false},
		{"*", "a", true},
		{"*", "a.b", false},
		{"a.*", "a.b", true},
		{"a.*", "a", false},
		{"a.*.c", "a.b.c", true},
		{"a.*.c", "a.b.d", false},
		{">", "a", true},
		{">", "a.b.c", true},
		{"a.>", "a.b.c", true},
		{"a.>", "a", false},
		{"a.>", "b.c", false},
	}
	for _, test := range tests {
		if got := journal.Match(test.filter, test.subject); got != test.want {
			t.Errorf("Match(%q, %q) = %v", test.filter, test.subject, got)
		}
	}
}
