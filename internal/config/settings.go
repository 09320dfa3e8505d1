package config

import (
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// A Setting is a field of a Config with the name for operators: the flag --name, the environment variable MUSTER_NAME
// and the key in the file.
type Setting struct {
	Name    string // lower-case words with hyphens
	Group   string // heading in the help and the reference
	Default string // in the form of a flag
	Usage   string // noun phrase; details follow after semicolons
	value
}

// Summary returns as much of Usage as fits on a line of the help: details after semicolons are in the reference only.
func (s Setting) Summary() string {
	summary := s.Usage
	for {
		i := strings.LastIndex(summary, ";")
		if len(summary) <= summaryWidth || i <= 0 {
			return summary
		}
		summary = summary[:i]
	}
}

const summaryWidth = 72 // columns

// Env returns the name of the environment variable.
func (s Setting) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// TOML returns the line for a file with the present value.
func (s Setting) TOML() (string, error) {
	line, err := toml.Marshal(map[string]any{s.Name: s.plain()})
	if err != nil {
		return "", fmt.Errorf("setting %s: %w", s.Name, err)
	}
	return strings.TrimSpace(string(line)), nil
}

// Redacted returns the setting for printing: URLs without user and query.
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

// Plain returns the present value as a string, an int or a []string.
func (s Setting) Plain() any { return s.plain() }

// String returns the present value in the form of a flag.
func (s Setting) String() string { return s.text() }

// Set changes the value. Its error describes the expected form.
func (s Setting) Set(text string) error { return s.set(text) }

// Former returns the former name, which Load accepts with a warning, or "".
func (s Setting) Former() string { return s.former }

// Kind returns "text", "number", "duration", "list" or the choices, with bounds.
func (s Setting) Kind() string { return s.kind }

// reset sets settings to their defaults.
func reset(settings []Setting) {
	for _, s := range settings {
		if err := s.Set(s.Default); err != nil {
			panic("default of " + s.Name + ": " + err.Error())
		}
	}
}
