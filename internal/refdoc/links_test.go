package refdoc

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	fenced   = regexp.MustCompile("(?s)```.*?```")
)

// markdown returns the pages of the repository, by their path.
func markdown(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || path != root && d.Name()[0] == '.'):
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		pages[path] = fenced.ReplaceAllString(string(text), "")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// anchors returns the anchors of a page. Source: GitHub's rendering of headings.
func anchors(page string) (all []string) {
	seen := map[string]int{}
	for _, h := range headings.FindAllStringSubmatch(page, -1) {
		text := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(h[1], "$1")
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r > 127:
				return r
			}
			return -1
		}, strings.ToLower(text))
		if n := seen[anchor]; n > 0 {
			all = append(all, anchor+"-"+strconv.Itoa(n))
		} else {
			all = append(all, anchor)
		}
		seen[anchor]++
	}
	return all
}

func TestLinks(t *testing.T) {
	pages := markdown(t)
	checked := 0
	for path, page := range pages {
		for _, m := range link.FindAllStringSubmatch(page, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") {
				continue // another site
			}
			checked++
			to := path
			if target != "" {
				to = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: there is no %s", path, m[1])
			} else if text, ok := pages[to]; ok && anchor != "" && !slices.Contains(anchors(text), anchor) {
				t.Errorf("%s: %s has no such heading", path, m[1])
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d links were found", checked)
	}
}

// TestPagesAreReachable follows the links of the front page: two lead to each page of the documentation.
func TestPagesAreReachable(t *testing.T) {
	pages := markdown(t)
	reached := []string{filepath.Join(root, "README.md")}
	for range 2 {
		for _, path := range reached {
			for _, m := range link.FindAllStringSubmatch(pages[path], -1) {
				target, _, _ := strings.Cut(m[1], "#")
				if to := filepath.Join(filepath.Dir(path), target); target != "" && !slices.Contains(reached, to) {
					reached = append(reached, to)
				}
			}
		}
	}
	for path := range pages {
		if strings.HasPrefix(path, filepath.Join(root, "docs")) && !slices.Contains(reached, path) {
			t.Errorf("%s is more than two links away from README.md", path)
		}
	}
}
