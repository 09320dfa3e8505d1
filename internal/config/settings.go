package config

import (
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// A Setting is one field of a Config under the name that operators write: the
// flag --name, the environment variable MUSTER_NAME and the key name of the file.
type Setting struct {
	Name    string // lower-case words with hyphens
	Group   string // the heading of the reference under which it is listed
	Default string // as it is written in a flag
	Usage   string // what it means, in one sentence
	value
}

// Env is the environment variable of the setting.
func (s Setting) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// TOML is the line that gives the setting its present value in a file.
func (s Setting) TOML() (string, error) {
	line, err := toml.Marshal(map[string]any{s.Name: s.plain()})
	if err != nil {
		return "", fmt.Errorf("setting %s: %w", s.Name, err)
	}
	return strings.TrimSpace(string(line)), nil
}

// Redacted is the setting as others may see it: without the user and the query of URLs.
// It is for printing; the field that it is bound to stays as it is.
func (s Setting) Redacted() Setting {
	if s.shown == nil {
		return s
	}
	items, _ := s.plain().([]string)
	shown := make([]string, len(items))
	for i, item := range items {
		shown[i] = s.value.shown(item)
	}
	s.plain = func() any { return shown }
	s.text = func() string { return strings.Join(shown, ",") }
	return s
}

// Plain is the present value as a string, an int or a []string, for encoders.
func (s Setting) Plain() any { return s.plain() }

// String is the present value as it is written in a flag.
func (s Setting) String() string { return s.text() }

// Set changes the value. Its error says what was expected.
func (s Setting) Set(text string) error { return s.set(text) }

// Kind says what may be written: "text", "number", "duration", "list" or the
// choices, and the bounds.
func (s Setting) Kind() string { return s.kind }

// reset gives settings their defaults.
func reset(settings []Setting) {
	for _, s := range settings {
		if err := s.Set(s.Default); err != nil {
			panic("default of " + s.Name + ": " + err.Error())
		}
	}
}
