//go:build screenshots

package browser_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-gg/muster/e2e/browser"
)

var (
	pictures = flag.String("pictures", "../../docs/images", "directory for the pictures of TestScreenshots")
	only     = flag.String("only", "", "comma-separated names of the pictures that TestScreenshots takes; empty: all")
)

// A picture is a page of the region that TestScreenshots fills.
type picture struct {
	name   string
	path   string
	shows  string
	widths []int // in CSS pixels, beside 1280
}

// everyWidth are the widths of the pages that have pictures for small and large screens.
var everyWidth = []int{360, 1920}

// TestScreenshots takes the pictures of docs/images: the pages of a region in which people play.
func TestScreenshots(t *testing.T) {
	r := startRegion(t)
	r.ProgramName = "muster"
	p := open(t, r.Service)
	for _, page := range r.pictures() {
		if *only != "" && !strings.Contains(","+*only+",", ","+page.name+",") {
			continue
		}
		p.Go(page.path, 200)
		p.Shows(page.shows)
		for _, width := range append([]int{1280}, page.widths...) {
			p.Resize(width, 800)
			for _, look := range []browser.Look{browser.Light, browser.Dark} {
				p.SetLook(look)
				name := fmt.Sprintf("console-%s-%s", page.name, look.Name)
				if width != 1280 {
					name += fmt.Sprintf("-%d", width)
				}
				p.save(name)
			}
		}
		p.Resize(1280, 800)
	}
	p.signInPictures()
}

// signInPictures takes the pictures of the pages of signing in.
func (p *person) signInPictures() {
	p.Helper()
	for _, page := range []struct {
		name string
		show func()
	}{
		{"in", func() { p.Go("/signin/in", 200) }},
		{"start", func() { p.fill(200, "ana", "a horse and a staple"); p.Go("/start", 200) }},
		{"device", func() { p.Go(p.device(), 200) }},
	} {
		page.show()
		for _, look := range []browser.Look{browser.Light, browser.Dark} {
			p.SetLook(look)
			if *only == "" || strings.Contains(*only, "signin") {
				p.save("signin-" + page.name + "-" + look.Name)
			}
		}
	}
}

// save writes a picture of the page.
func (p *person) save(name string) {
	p.Helper()
	data, err := small(p.Picture())
	must(p, err)
	must(p, os.MkdirAll(*pictures, 0o755))
	file := filepath.Join(*pictures, name+".png")
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, data) {
		return
	}
	must(p, os.WriteFile(file, data, 0o644))
}
