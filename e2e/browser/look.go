package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/muster-gg/muster/e2e/clients"
	"github.com/muster-gg/muster/mustertest"
)

// A Look is which colours a person has chosen.
type Look struct {
	Name   string
	scheme string // prefers-color-scheme
	forced string // forced-colors
}

// The looks.
var (
	Light  = Look{"light", "light", "none"}
	Dark   = Look{"dark", "dark", "none"}
	Forced = Look{"forced", "dark", "active"}

	Looks = []Look{Light, Dark, Forced}
)

// Widths are those at which pages are checked, in CSS pixels: the least of WCAG 1.4.10, a laptop, and a wide screen.
var Widths = []int{320, 1280, 1920}

// SetLook changes the colours that the person has chosen.
func (b *Tab) SetLook(l Look) {
	b.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: l.scheme},
		{Name: "forced-colors", Value: l.forced},
		{Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// Printed returns the text of the page on paper.
func (b *Tab) Printed() string {
	b.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	defer b.SetLook(Light)
	return b.Text()
}

// Animation returns the animation of an element with a class for people who want less motion; "none": none.
func (b *Tab) Animation(class string) string {
	b.Helper()
	b.SetLook(Light)
	return value[string](b, fmt.Sprintf(`(() => {
		const e = document.body.appendChild(document.createElement("p"));
		e.className = %q;
		const name = getComputedStyle(e).animationName;
		e.remove();
		return name;
	})()`, class))
}

// Resize changes the size of the window, in CSS pixels.
func (b *Tab) Resize(width, height int) {
	b.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(width), Height: int64(height), DeviceScaleFactor: 1})
	mustertest.Eventually(b, "the window has its size", func() bool { return value[int](b, "innerWidth") == width })
}

// screenshots is the environment variable with the directory to which Check writes pictures.
const screenshots = "MUSTER_SCREENSHOTS"

// axeRun is the format of an expression that returns what axe finds in a part of the page with rules, a line for each
// element.
const axeRun = `axe.run(%s, {
	runOnly: %s,
	resultTypes: ["violations"],
	preload: false,
}).then(r => r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + n.html + ": " + n.failureSummary)))`

// Rules of axe.
const (
	wcag = `{type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}`

	// colours are those of wcag that depend on colours.
	colours = `{type: "rule", values: ["color-contrast", "link-in-text-block"]}`
)

// Parts of a page.
const (
	everything = `document`
	content    = `{exclude: [".top", ".side"]}` // without the header and the navigation of the console
)

// rulesFor returns the rules to check in a look at a width; "": none. The looks differ in nothing but colours and
// borders, and from 1280 px on the width changes only where the elements are, not which there are.
func rulesFor(l Look, width int) string {
	switch {
	case l == Light:
		return wcag
	case width <= 1280:
		return colours
	}
	return ""
}

// overflow returns the elements that make the page wider than the window.
const overflow = `document.documentElement.scrollWidth <= document.documentElement.clientWidth ? [] :
	[...document.querySelectorAll("body *")]
		.filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth).map(e => e.outerHTML)`

// Check checks in every look and width that axe-core finds no violation of WCAG 2.2, levels A and AA, with the rules
// that depend on them, and that the page needs no horizontal scrolling. The header and the navigation of the console,
// which its pages share, are checked in each look on the first page of a tab, and light on the others. The name is that
// of the pictures of the page. It needs scripts. The tab ends up light and 1280 px wide.
//
// axe-core runs as an expression of the debugger, to which the page's content security policy does not apply; so the
// policy is in force, and breaches of it by the page are recorded, all the time.
func (b *Tab) Check(name string) {
	b.Helper()
	if !value[bool](b, `typeof axe === "object"`) {
		value[chromedp.Void](b, clients.Axe(b)+"; 0")
	}
	for _, width := range Widths {
		b.Resize(width, 800)
		if wide := value[[]string](b, overflow); len(wide) > 0 {
			b.Errorf("%s at %d px: the page scrolls horizontally, by %q", name, width, wide)
		}
		for _, look := range Looks {
			rules := rulesFor(look, width)
			if rules == "" && os.Getenv(screenshots) == "" {
				continue
			}
			b.SetLook(look)
			b.run(rules, look, fmt.Sprintf("%s, %s, %d px", name, look.Name, width))
			b.Screenshot(fmt.Sprintf("%s-%s-%d", name, look.Name, width))
		}
	}
	b.framed = b.framed || value[bool](b, `document.querySelector(".side") !== null`)
	b.SetLook(Light)
	b.Resize(1280, 800)
}

// run runs rules of axe, if there are any, in a look that is set.
func (b *Tab) run(rules string, look Look, name string) {
	b.Helper()
	if rules == "" {
		return
	}
	part := everything
	if b.framed && look != Light {
		part = content
	}
	for _, violation := range value[[]string](b, fmt.Sprintf(axeRun, part, rules)) {
		b.Errorf("%s: %s", name, violation)
	}
}

// Theme returns the colours that the page has chosen; "": those of the system.
func (b *Tab) Theme() string {
	b.Helper()
	return value[string](b, `document.documentElement.dataset.theme ?? ""`)
}

// Screenshot writes a picture of the whole page to the directory in MUSTER_SCREENSHOTS, if that is set.
func (b *Tab) Screenshot(name string) {
	b.Helper()
	dir := os.Getenv(screenshots)
	if dir == "" {
		return
	}
	picture := b.Picture()
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		file := strings.NewReplacer("/", "-", " ", "-").Replace(name) + ".png"
		err = os.WriteFile(filepath.Join(dir, file), picture, 0o644)
	}
	if err != nil {
		b.Fatalf("take a picture of %s: %v", name, err)
	}
}

// Picture returns a picture of the whole page, as PNG.
func (b *Tab) Picture() []byte {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, mustertest.Patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.Fatalf("take a picture: %v", err)
	}
	return picture
}
