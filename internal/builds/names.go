package builds

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxName = 1024 // bytes of a path

// checkName rejects the name of an entry that is not the path of a file below the root on every system that the build
// is for. Directories end with a slash.
func checkName(name string, windows bool) error {
	return checkPath(strings.TrimSuffix(name, "/"), windows)
}

// checkPath is checkName for a path without a slash at its end.
func checkPath(path string, windows bool) error {
	switch {
	case path == "" || len(path) > maxName:
		return invalid("entry %q has a path of %d bytes; it must have 1 to %d", shown(path), len(path), maxName)
	case !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl):
		return invalid("the path of entry %q is not UTF-8, or it has control characters", shown(path))
	case strings.HasPrefix(path, "/"):
		return invalid("the path of entry %q is absolute", shown(path))
	case strings.Contains(path, `\`):
		return invalid("the path of entry %q has a backslash; the separator is a slash", shown(path))
	case len(path) > 1 && path[1] == ':':
		return invalid("the path of entry %q begins with a drive", shown(path))
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return invalid("the path of entry %q has the part %q", shown(path), part)
		}
		if windows && !possibleOnWindows(part) {
			return invalid("the path of entry %q has the part %q, which Windows does not allow", shown(path),
				shown(part))
		}
	}
	return nil
}

// possibleOnWindows reports whether a part of a path is the name of a file on Windows, and not that of a device or a
// stream of another file. Source: Microsoft Learn, "Naming Files, Paths, and Namespaces".
func possibleOnWindows(part string) bool {
	if strings.ContainsAny(part, `<>:"|?*`) || strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") {
		return false
	}
	base, _, _ := strings.Cut(part, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return false
	}
	if device := strings.HasPrefix(base, "COM") || strings.HasPrefix(base, "LPT"); !device {
		return true
	}
	number := base[3:]
	return utf8.RuneCountInString(number) != 1 || !strings.ContainsAny(number, "0123456789¹²³")
}

// shown shortens a text of the archive for a reason.
func shown(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}
