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

// Sources are the places that settings are taken from. A flag goes before the
// environment, the environment before the file, the file before the defaults.
type Sources struct {
	// File is the path of a TOML file whose keys are settings; "" for none.
	File string
	// Environ holds NAME=value strings, as os.Environ returns them. A variable
	// that is empty counts as not set.
	Environ []string
	// Flags holds the settings that were given as flags, by name.
	Flags map[string]string
	// Elsewhere are names of settings of other programs, which may stand in the same
	// file and environment and mean nothing here.
	Elsewhere []string
}

// Origins says for each setting where its value came from: "default",
// "file PATH", "environment NAME" or "flag --name".
type Origins map[string]string

// Settable is a pointer to a struct whose fields are settings: *Config and
// *StandaloneGateway.
type Settable[C any] interface {
	*C
	// Settings lists the settings, which stay bound to the struct.
	Settings() []Setting
	// Validate reports what cannot be used, as joined *SettingErrors.
	Validate() error
}

// Load changes defaults to what the sources say and validates the result. A
// name that no setting has is an error in every source, and so is a value of
// the wrong form; the error joins all that was wrong.
func Load[C any, P Settable[C]](defaults C, from Sources) (C, Origins, error) {
	l := loader{byName: map[string]Setting{}, origins: Origins{}, elsewhere: from.Elsewhere}
	config, none := defaults, *new(C)
	for _, s := range P(&config).Settings() {
		l.byName[s.Name] = s
		l.origins[s.Name] = "default"
	}
	l.file(from.File)
	l.environment(from.Environ)
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
	origins   Origins
	elsewhere []string
	errs      []error
}

func (l *loader) set(name, origin, text string) {
	s, ok := l.byName[name]
	if !ok {
		l.unknown(origin, name, func(known string) string { return known })
		return
	}
	if err := s.Set(text); err != nil {
		l.errs = append(l.errs, &SettingError{Setting: name, Origin: origin, Problem: err.Error()})
		return
	}
	l.origins[name] = origin
}

// unknown notes that there is no setting of this name and proposes the nearest,
// spelled as its source spells names.
func (l *loader) unknown(origin, name string, spell func(string) string) {
	known := nearest(name, slices.Sorted(maps.Keys(l.byName)))
	l.errs = append(l.errs, fmt.Errorf("%s: there is no setting %s; the nearest is %s", origin, spell(name), spell(known)))
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
	for _, name := range slices.Sorted(maps.Keys(values)) {
		s, known := l.byName[name]
		if !known && slices.Contains(l.elsewhere, name) {
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

// fromTOML turns a value of the file into the text that Set reads.
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
	return "", fmt.Errorf("wants %s, not %v", wants, v)
}

func joinTOML(items []any) (string, error) {
	names := make([]string, 0, len(items))
	for _, item := range items {
		name, ok := item.(string)
		if !ok {
			return "", fmt.Errorf("wants strings in its list, not %v", item)
		}
		names = append(names, name)
	}
	return strings.Join(names, ","), nil
}

// notSettings are the variables with our prefix that tell other programs how to
// reach a service (see muster dev), and the one that names the file.
var notSettings = []string{
	"MUSTER_CONFIG", "MUSTER_HTTP_URL", "MUSTER_WS_URL", "MUSTER_WSS_URL", "MUSTER_CA_FILE", "MUSTER_PPROF_URL",
	"MUSTER_GATEWAY_URL", "MUSTER_SAMPLE_FLEET_ID", "MUSTER_PID",
}

func (l *loader) environment(environ []string) {
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		variable, text, _ := strings.Cut(entry, "=")
		variable = strings.ToUpper(variable) // Windows keeps the case that was typed
		rest, ours := strings.CutPrefix(variable, envPrefix)
		if text == "" || !ours || slices.Contains(notSettings, variable) || injected(variable) {
			continue
		}
		name := strings.ToLower(strings.ReplaceAll(rest, "_", "-"))
		origin := "environment " + variable
		if _, ok := l.byName[name]; !ok && slices.Contains(l.elsewhere, name) {
			continue
		} else if !ok {
			l.unknown("environment", name, func(name string) string { return Setting{Name: name}.Env() })
			continue
		}
		l.set(name, origin, text)
	}
}

// injected reports whether a container platform sets the variable on its own:
// Kubernetes gives every pod such variables for a Service that is called muster.
// Source: Kubernetes documentation, Service, "Environment variables".
func injected(variable string) bool {
	return variable == "MUSTER_PORT" || strings.HasPrefix(variable, "MUSTER_PORT_") ||
		strings.HasPrefix(variable, "MUSTER_SERVICE_")
}

// validate is Config.Validate with the origins filled in.
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

// nearest is the candidate that takes the fewest changes to reach from name; the
// first of equals.
func nearest(name string, candidates []string) string {
	return slices.MinFunc(candidates, func(a, b string) int {
		return cmp.Compare(distance(name, a), distance(name, b))
	})
}

// distance is the Levenshtein distance of two names.
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
