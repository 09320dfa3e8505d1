package builds

import (
	"slices"
	"strings"
)

// A kind is what a path of an archive is.
type kind int

const (
	directory kind = iota
	file
	link
)

// A tree has the paths of an archive. It holds that each is one thing, so that what is written for an entry is not
// written through another one.
type tree struct {
	fold   bool              // paths that differ in case only are the same
	kinds  map[string]kind   // by folded path; directories also if they have no entry
	given  map[string]bool   // directories that have one
	target map[string]string // of links
	links  []string          // in the order of the archive
	steps  int               // parts of paths followed so far
}

func newTree(fold bool) *tree {
	return &tree{fold: fold, kinds: map[string]kind{}, given: map[string]bool{}, target: map[string]string{}}
}

// key returns the form in which paths are compared. ToUpper is first: some letters have only their upper-case form in
// common.
func (t *tree) key(path string) string {
	if t.fold {
		return strings.ToLower(strings.ToUpper(path))
	}
	return path
}

// add adds a path.
func (t *tree) add(path string, k kind, target string) error {
	for i := range path {
		if path[i] != '/' {
			continue
		}
		parent := t.key(path[:i])
		if is, ok := t.kinds[parent]; ok && is != directory {
			return invalid("entry %q is below entry %q, which is no directory", shown(path), shown(path[:i]))
		}
		t.kinds[parent] = directory
	}
	key := t.key(path)
	is, exists := t.kinds[key]
	switch {
	case exists && (is != k || k != directory || t.given[key]):
		return invalid("two entries have the path %q%s", shown(path), t.ignoring())
	case k == directory:
		t.given[key] = true
	case k == link:
		t.target[key] = target
		t.links = append(t.links, path)
	}
	t.kinds[key] = k
	return nil
}

func (t *tree) ignoring() string {
	if t.fold {
		return ", if upper and lower case are the same"
	}
	return ""
}

const (
	// maxLinks is the number of links that the target of a link may lead through. Source: Linux, path_resolution(7).
	maxLinks = 40

	// maxSteps is the number of parts of paths that are followed in one archive.
	maxSteps = 1 << 20
)

// checkLinks rejects links that lead out of the root, also through other links.
func (t *tree) checkLinks() error {
	for _, path := range t.links {
		if !t.within(path) {
			return invalid("link %q leads out of the build: its target is %q", shown(path),
				shown(t.target[t.key(path)]))
		}
	}
	return nil
}

// within reports whether a path stays below the root when its links are followed, as a file system follows them.
func (t *tree) within(path string) bool {
	var at []string // the parts of the directory that was reached
	rest := strings.Split(path, "/")
	for followed := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		if t.steps++; t.steps > maxSteps || len(at) > maxName/2 {
			return false
		}
		switch part {
		case "", ".":
			continue
		case "..":
			if len(at) == 0 {
				return false
			}
			at = at[:len(at)-1]
			continue
		}
		at = append(at, part)
		target, isLink := t.target[t.key(strings.Join(at, "/"))]
		if !isLink {
			continue
		}
		if followed++; followed > maxLinks || strings.HasPrefix(target, "/") || strings.ContainsAny(target, "\\\x00") {
			return false
		}
		at = at[:len(at)-1]
		rest = slices.Concat(strings.Split(target, "/"), rest)
	}
	return true
}
