package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  muster version\n  muster version --json",
		Args:    cobra.NoArgs,
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	command.RunE = func(*cobra.Command, []string) error {
		info, _ := debug.ReadBuildInfo() // nil for a binary without module support
		v := versionOf(info)
		if asJSON {
			return json.NewEncoder(a.stdout).Encode(v)
		}
		_, err := fmt.Fprintln(a.stdout, v)
		return err
	}
	return command
}

type version struct {
	Version  string `json:"version"`            // of the module: a tag, a pseudo-version or (devel)
	Commit   string `json:"commit,omitempty"`   // "" if not built from a repository
	Time     string `json:"time,omitempty"`     // of the commit, RFC 3339
	Modified bool   `json:"modified,omitempty"` // the work tree differed from the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionOf(info *debug.BuildInfo) version {
	v := version{Version: "(unknown)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v version) String() string {
	line := "muster " + v.Version
	if v.Commit != "" {
		line += fmt.Sprintf(" (commit %.12s", v.Commit)
		if v.Modified {
			line += ", modified"
		}
		line += ")"
	}
	return line + " " + v.Go + " " + v.Platform
}

// userAgent names a command to a service, whose audit trail has it: "muster/v1.2.3 user add".
func userAgent(command *cobra.Command) string {
	info, _ := debug.ReadBuildInfo() // nil for a binary without module support
	name, _ := strings.CutPrefix(command.CommandPath(), command.Root().Name())
	// Source of the characters that are removed: RFC 9110, section 10.1.5: parentheses are comments.
	return "muster/" + strings.Trim(versionOf(info).Version, "()") + name
}
