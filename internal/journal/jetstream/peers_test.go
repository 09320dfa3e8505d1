package jetstream

import (
	"slices"
	"testing"
)

// A node that is among its peers is not counted twice.
func TestWithSelf(t *testing.T) {
	for name, tt := range map[string]struct {
		listen, host string
		peers, want  []string
	}{
		"the same text":       {"a:1", "a", []string{"a:1", "b:1"}, []string{"a:1", "b:1"}},
		"others alone":        {"a:1", "a", []string{"b:1", "c:1"}, []string{"b:1", "c:1", "a:1"}},
		"any address, others": {":1", "", []string{"192.0.2.1:1"}, []string{"192.0.2.1:1", "127.0.0.1:1"}},
		"any address, itself": {":1", "", []string{"127.0.0.1:1", "192.0.2.1:1"},
			[]string{"127.0.0.1:1", "192.0.2.1:1"}},
		"any address, neighbor": {"0.0.0.0:1", "0.0.0.0", []string{"127.0.0.1:2"},
			[]string{"127.0.0.1:2", "127.0.0.1:1"}},
	} {
		if got := withSelf(tt.peers, tt.host, tt.listen); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
