package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

const envPrefix = "MUSTER_"

// Sources are the sources of settings. Flags have precedence over the environment, the environment over the file, the
// file over the defaults.
type Sources struct {
	// File is the path of a TOML file; may be "".
	File string
	// Environ has NAME=value strings, as os.Environ returns. Empty variables count as not set.
	Environ []string
	// Flags has the settings from flags, by name.
	Flags map[string]string
	// Elsewhere are names of other programs' settings, which are ignored in the file and the environment.
	Elsewhere []string
	// Warn is called once for each former name of a setting that the sources have, with a sentence for people; nil: no
	// warnings.
	Warn func(text string)
}

// Origins are the sources of values by setting: "default", "file PATH", "environment NAME" or "flag --name".
type Origins map[string]string

// Settable is a pointer to a struct of settings: *Config and *StandaloneGateway.
type Settable[C any] interface {
	*C
	// Settings returns the settings, bound to the struct.
	Settings() []Setting
	// Validate returns all invalid settings as joined *SettingErrors.
	Validate() error
}

// Load applies the sources to defaults and validates the result. Unknown names and invalid values are errors in every
// source; the error joins all.
func Load[C any, P Settable[C]](defaults C, from Sources) (C, Origins, error) {
	l := loader{byName: map[string]Setting{}, current: map[string]string{}, origins: Origins{},
		elsewhere: from.Elsewhere, warn: from.Warn, warned: map[string]bool{}}
	config, none := defaults, *new(C)
	for _, s := range P(&config).Settings() {
		l.byName[s.Name] = s
		l.origins[s.Name] = "default"
		if s.former != "" {
			l.current[s.former] = s.Name
		}
	}
	l.file(from.File)
	l.environment(from.Environ)
	l.names = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(from.Flags)) {
		l.set(name, "flag --"+name, from.Flags[name])
	}
	if len(l.errs) > 0 {
		return none, nil, errors.Join(l.errs...)
	}
	if err := l.validate(P(&config)); err != nil {
		return none, nil, err
	}
	return config, l.origins, nil
}

type loader struct {
	byName    map[string]Setting
	current   map[string]string // names by former name
	names     map[string]string // by which the present source sets settings, by setting
	origins   Origins
	elsewhere []string
	warn      func(string)
	warned    map[string]bool // by former name
	errs      []error
}

// find returns the setting with a present or former name.
func (l *loader) find(name string) (s Setting, ok bool) {
	if current, former := l.current[name]; former {
		name = current
	}
	s, ok = l.byName[name]
	return s, ok
}

func (l *loader) set(name, origin, text string) {
	s, ok := l.find(name)
	if !ok {
		l.unknown(origin, name, func(known string) string { return known })
		return
	}
	if before := l.names[s.Name]; before != "" && before != name {
		l.errs = append(l.errs, &SettingError{Setting: s.Name, Origin: origin,
			Problem: "is set twice, as " + s.Name + " and by its former name " + s.former + ": remove " + s.former})
		return
	}
	l.names[s.Name] = name
	if err := s.Set(text); err != nil {
		l.errs = append(l.errs, &SettingError{Setting: name, Origin: origin, Problem: err.Error()})
		return
	}
	l.origins[s.Name] = origin
	l.warnFormer(name, s, origin)
}

// warnFormer warns once about a former name, whichever sources have it.
func (l *loader) warnFormer(name string, s Setting, origin string) {
	if name == s.Name || l.warn == nil || l.warned[name] {
		return
	}
	l.warned[name] = true
	l.warn(fmt.Sprintf("setting %s (%s) is now called %s: rename it; the next release rejects the former name",
		name, origin, s.Name))
}

// unknown records an unknown name and suggests the nearest one, in the spelling of its source.
func (l *loader) unknown(origin, name string, spell func(string) string) {
	known := nearest(name, slices.Sorted(maps.Keys(l.byName)))
	l.errs = append(l.errs, fmt.Errorf("%s: unknown setting %s; the nearest is %s", origin, spell(name), spell(known)))
}

func (l *loader) file(path string) {
	if path == "" {
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		l.errs = append(l.errs, fmt.Errorf("settings file: %w", err))
		return
	}
	var values map[string]any
	if err := toml.Unmarshal(data, &values); err != nil {
		l.errs = append(l.errs, fmt.Errorf("settings file %s: %w", path, err))
		return
	}
	origin := "file " + path
	l.names = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		s, known := l.find(name)
		if !known && slices.Contains(l.elsewhere, name) {
			continue
		}
		if isTable(values[name]) {
			l.errs = append(l.errs, fmt.Errorf("%s: [%s] is a table, and a settings file has none: remove that "+
				"line, and write each setting at the top level as NAME = VALUE, such as listen = \":9080\"",
				origin, name))
			continue
		}
		text, err := fromTOML(values[name], s.kind)
		if known && err != nil {
			l.errs = append(l.errs, &SettingError{Setting: name, Origin: origin, Problem: err.Error()})
			continue
		}
		l.set(name, origin, text)
	}
}

// isTable reports whether a value of the file is a table, or an array of tables.
func isTable(v any) bool {
	switch v.(type) {
	case map[string]any, []map[string]any:
		return true
	}
	return false
}

// fromTOML converts a value of the file to the form of a flag.
func fromTOML(v any, kind string) (string, error) {
	switch v := v.(type) {
	case int64:
		if strings.HasPrefix(kind, "number") {
			return fmt.Sprint(v), nil
		}
	case string:
		if !strings.HasPrefix(kind, "number") {
			return v, nil
		}
	case []any:
		if kind == "list" {
			return joinTOML(v)
		}
	}
	wants := "a string in quotes"
	switch {
	case strings.HasPrefix(kind, "number"):
		wants = "a whole number without quotes"
	case kind == "list":
		wants = `a list of strings such as ["a.example.com"]`
	}
	return "", fmt.Errorf("must be %s, not %v", wants, v)
}

func joinTOML(items []any) (string, error) {
	names := make([]string, 0, len(items))
	for _, item := range items {
		name, ok := item.(string)
		if !ok {
			return "", fmt.Errorf("must be a list of strings, not of %v", item)
		}
		names = append(names, name)
	}
	return strings.Join(names, ","), nil
}

// notSettings are variables for clients of a service (see muster dev), and the path of the file.
var notSettings = []string{
	"MUSTER_CONFIG", "MUSTER_HTTP_URL", "MUSTER_WS_URL", "MUSTER_WSS_URL", "MUSTER_CA_FILE", "MUSTER_PPROF_URL",
	"MUSTER_GATEWAY_URL", "MUSTER_SAMPLE_FLEET_ID", "MUSTER_PID",
}

func (l *loader) environment(environ []string) {
	l.names = map[string]string{}
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		variable, text, _ := strings.Cut(entry, "=")
		variable = strings.ToUpper(variable) // on Windows names are case-insensitive
		rest, ours := strings.CutPrefix(variable, envPrefix)
		if text == "" || !ours || slices.Contains(notSettings, variable) || injected(variable) {
			continue
		}
		name := strings.ToLower(strings.ReplaceAll(rest, "_", "-"))
		origin := "environment " + variable
		if _, ok := l.find(name); !ok && slices.Contains(l.elsewhere, name) {
			continue
		} else if !ok {
			l.unknown("environment", name, func(name string) string { return Setting{Name: name}.Env() })
			continue
		}
		l.set(name, origin, text)
	}
}

// injected reports whether a container platform sets the variable: Kubernetes does in every pod for a Service named
// muster.
// Source: Kubernetes documentation, Service, "Environment variables".
func injected(variable string) bool {
	return variable == "MUSTER_PORT" || strings.HasPrefix(variable, "MUSTER_PORT_") ||
		strings.HasPrefix(variable, "MUSTER_SERVICE_")
}

// validate calls Validate and adds the origins.
func (l *loader) validate(c interface{ Validate() error }) error {
	err := c.Validate()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	for _, err := range joined.Unwrap() {
		if e, ok := errors.AsType[*SettingError](err); ok {
			e.Origin = l.origins[e.Setting]
		}
	}
	return err
}

// nearest returns the first candidate with the smallest distance to name.
func nearest(name string, candidates []string) string {
	return slices.MinFunc(candidates, func(a, b string) int {
		return cmp.Compare(distance(name, a), distance(name, b))
	})
}

// distance returns the Levenshtein distance.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
