package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/muster-gg/muster/internal/atomicfile"
)

// An iniFile is an AWS configuration file as its lines, which keep comments, order and spacing. Source of the format:
// AWS SDKs and Tools reference guide, "Shared config and credentials files".
type iniFile struct {
	lines []string // without "\n"
	end   string   // of new lines: "\r" as in the first line, or ""
}

func parseINI(text string) *iniFile {
	f := new(iniFile)
	if text == "" {
		return f
	}
	f.lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if strings.HasSuffix(f.lines[0], "\r") {
		f.end = "\r"
	}
	return f
}

func (f *iniFile) String() string {
	if len(f.lines) == 0 {
		return ""
	}
	return strings.Join(f.lines, "\n") + "\n"
}

// A setting of an AWS configuration file. A nested one is a member of its parent: gamelift.endpoint_url.
type iniSetting struct{ parent, key, value string }

// set sets values in a section, and adds the section if there is none. Other lines stay as they are.
func (f *iniFile) set(section string, settings []iniSetting) error {
	for _, s := range settings {
		// Some values come from a service. In a line of its own, one could be a setting that runs a program.
		if strings.ContainsFunc(s.value, unicode.IsControl) {
			return fmt.Errorf("%s is %q: line ends are not possible in the AWS configuration", s.key, s.value)
		}
	}
	start, end, err := f.section(section)
	if err != nil {
		return err
	}
	if start < 0 {
		if len(f.lines) > 0 && strings.TrimSpace(f.lines[len(f.lines)-1]) != "" {
			f.insert(len(f.lines), "")
		}
		f.insert(len(f.lines), "["+section+"]")
		start, end = len(f.lines), len(f.lines)
	}
	for _, s := range settings {
		before := len(f.lines)
		if s.parent == "" {
			f.setKey(start, end, s)
		} else {
			f.setNested(start, end, s)
		}
		end += len(f.lines) - before
	}
	return nil
}

var header = regexp.MustCompile(`^\[\s*(.*?)\s*\]\s*([#;].*)?\s*$`)

// section returns the lines of a section after its header; start is -1 if there is none. Two with one name are an
// error, because the tools differ in which of them they read.
func (f *iniFile) section(name string) (start, end int, err error) {
	start, end = -1, len(f.lines)
	inside := false
	for i, line := range f.lines {
		h := header.FindStringSubmatch(line)
		if h == nil {
			continue
		}
		if inside {
			end, inside = i, false
		}
		if sectionName(h[1]) != name {
			continue
		}
		if start >= 0 {
			return 0, 0, fmt.Errorf("section [%s] exists twice: join the two", name)
		}
		start, inside = i+1, true
	}
	return start, end, nil
}

// sectionName removes quotes and additional blanks: [profile "muster"] is the same as [profile muster].
func sectionName(text string) string {
	kind, name, ok := strings.Cut(strings.Join(strings.Fields(text), " "), " ")
	if !ok {
		return kind
	}
	return kind + " " + strings.Trim(name, `"'`)
}

// isSetting reports whether a line sets a key, indented or not.
func isSetting(line, key string, indented bool) bool {
	rest := strings.TrimLeft(line, " \t")
	if (len(rest) < len(line)) != indented {
		return false
	}
	name, _, ok := strings.Cut(rest, "=")
	return ok && strings.EqualFold(strings.TrimSpace(name), key)
}

// isIndented reports whether a line continues the setting before it.
func isIndented(line string) bool {
	return strings.TrimSpace(line) != "" && (line[0] == ' ' || line[0] == '\t')
}

// value returns the value of a key in a section; "" if it has none.
func (f *iniFile) value(start, end int, key string) string {
	for _, line := range f.lines[max(start, 0):end] {
		if isSetting(line, key, false) {
			_, value, _ := strings.Cut(line, "=")
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func (f *iniFile) setKey(start, end int, s iniSetting) {
	text := s.key + " = " + s.value
	for i := start; i < end; i++ {
		if isSetting(f.lines[i], s.key, false) {
			f.replace(i, text)
			return
		}
	}
	f.insert(f.lastLine(start, end), text)
}

func (f *iniFile) setNested(start, end int, s iniSetting) {
	text := "  " + s.key + " = " + s.value
	for i := start; i < end; i++ {
		if !isSetting(f.lines[i], s.parent, false) {
			continue
		}
		next := i + 1
		for ; next < end && isIndented(f.lines[next]); next++ {
			if isSetting(f.lines[next], s.key, true) {
				f.replace(next, text)
				return
			}
		}
		f.insert(next, text)
		return
	}
	f.insert(f.lastLine(start, end), s.parent+" =", text)
}

// replace replaces a line unless it says the same, with other spacing.
func (f *iniFile) replace(i int, text string) {
	if !slices.Equal(strings.Fields(strings.Replace(f.lines[i], "=", " = ", 1)), strings.Fields(text)) {
		f.lines[i] = text + f.end
	}
}

// lastLine returns the place after the last setting of a section, before blank lines and comments at its end.
func (f *iniFile) lastLine(start, end int) int {
	for ; end > start; end-- {
		line := strings.TrimSpace(f.lines[end-1])
		if line != "" && line[0] != '#' && line[0] != ';' {
			break
		}
	}
	return end
}

func (f *iniFile) insert(at int, lines ...string) {
	for i, line := range lines {
		f.lines = slices.Insert(f.lines, at+i, line+f.end)
	}
}

// editINI changes a configuration file atomically, and reports whether it differed. A new file is readable by its owner
// alone; another one keeps its mode, and a link to it stays one.
func editINI(path string, edit func(*iniFile) error) (changed bool, err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := fs.FileMode(0o600)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return false, err
		}
	case err != nil:
		return false, err
	default:
		about, err := os.Stat(path)
		if err != nil {
			return false, err
		}
		mode = about.Mode().Perm()
	}
	f := parseINI(string(text))
	if err := edit(f); err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	if f.String() == string(text) {
		return false, nil
	}
	return true, atomicfile.Write(path, []byte(f.String()), mode)
}
