package release

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	installed := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}} // by go install, which has no repository
	cloned := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.4-0.20261128000000-0123456789ab"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
			{Key: "vcs.modified", Value: "true"},
		}}
	for _, test := range []struct {
		name, given string
		info        *debug.BuildInfo
		want        string // the beginning
	}{
		{"go install", "", installed, "v1.2.3 go"},
		{"a clone", "", cloned, "v1.2.4-0.20261128000000-0123456789ab (commit 0123456789ab, modified) go"},
		{"make release", "v1.3.0", cloned, "v1.3.0 (commit 0123456789ab, modified) go"},
		{"an archive of the source", "v1.3.0", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "v1.3.0 go"},
		{"without modules", "", nil, "(unknown) go"},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer func(before string) { version = before }(version)
			version = test.given
			if got := of(test.info).String(); !strings.HasPrefix(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
