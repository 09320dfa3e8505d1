// Package release identifies the build of the running program.
package release

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the version given at the build, such as v1.2.3. `make release` sets it with -ldflags -X, because Go
// records none in builds from an archive of the source or from a linked work tree. Empty: Go's record of the module
// is used, which `go install` always has.
var version string

// A Build describes a build of the program.
type Build struct {
	Version  string `json:"version"`            // a tag, a pseudo-version or (devel)
	Commit   string `json:"commit,omitempty"`   // "" if not built from a repository
	Time     string `json:"time,omitempty"`     // of the commit, RFC 3339
	Modified bool   `json:"modified,omitempty"` // the work tree differed from the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Current returns the build of the running program.
func Current() Build {
	info, _ := debug.ReadBuildInfo() // nil for a binary without module support
	return of(info)
}

func of(info *debug.BuildInfo) Build {
	b := Build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info != nil {
		b.Version = cmp.Or(b.Version, info.Main.Version)
		b.addVCS(info.Settings)
	}
	b.Version = cmp.Or(b.Version, "(unknown)")
	return b
}

func (b *Build) addVCS(settings []debug.BuildSetting) {
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
}

// String returns one line: "v1.2.3 (commit 0123456789ab) go1.26.0 linux/amd64".
func (b Build) String() string {
	line := b.Version
	if b.Commit != "" {
		line += fmt.Sprintf(" (commit %.12s", b.Commit)
		if b.Modified {
			line += ", modified"
		}
		line += ")"
	}
	return line + " " + b.Go + " " + b.Platform
}
