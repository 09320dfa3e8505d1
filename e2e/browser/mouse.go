package browser

import (
	"fmt"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/muster-gg/muster/mustertest"
)

// A point is a place in the window, in CSS pixels.
type point struct{ X, Y float64 }

// middle is an expression for the middle of the first visible element that a selector finds and whose text begins so;
// null: there is none that the mouse can reach.
const middle = `((selector, text) => {
	const e = [...document.querySelectorAll(selector)].find(
		(e) => e.checkVisibility() && (e.getAttribute("aria-label") ?? e.innerText).trim().startsWith(text));
	if (!e) return null;
	e.scrollIntoView({block: "center", behavior: "instant"});
	const r = e.getBoundingClientRect();
	const at = {X: r.x + r.width / 2, Y: r.y + r.height / 2};
	return e.contains(document.elementFromPoint(at.X, at.Y)) ? at : null;
})(%q, %q)`

// Click moves the mouse to an element, and clicks.
func (b *Tab) Click(selector, text string) {
	b.Helper()
	b.click(selector, text, 0)
}

// CtrlClick clicks a link with the control key, which opens it in another tab.
func (b *Tab) CtrlClick(selector, text string) {
	b.Helper()
	b.click(selector, text, int64(chromedp.ModifierCtrl))
}

func (b *Tab) click(selector, text string, modifiers int64) {
	b.Helper()
	var at *point
	mustertest.Eventually(b, fmt.Sprintf("the mouse reaches %s %q", selector, text), func() bool {
		at = value[*point](b, fmt.Sprintf(middle, selector, text))
		return at != nil
	})
	for _, event := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMouseMoved,
		input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		params := input.DispatchMouseEventParams{Type: event, X: at.X, Y: at.Y, Modifiers: modifiers}
		if event != input.DispatchMouseEventTypeMouseMoved {
			params.Button, params.ClickCount = input.MouseButtonLeft, 1
		}
		call(b, input.DispatchMouseEvent, params)
	}
}

// Reload reads the page again, with what was sent for it.
func (b *Tab) Reload(status int) {
	b.Helper()
	b.Loads(status, func() { call(b, page.Reload, page.ReloadParams{}) })
}

// Scroll scrolls the page to a distance from its top, in CSS pixels.
func (b *Tab) Scroll(to int) {
	b.Helper()
	value[int](b, fmt.Sprintf("scrollTo({top: %d, behavior: 'instant'}), 0", to))
	b.Scrolled(to)
}

// Scrolled waits until the page is scrolled to a distance from its top.
func (b *Tab) Scrolled(to int) {
	b.Helper()
	mustertest.Eventually(b, fmt.Sprintf("the page is %d px down", to), func() bool {
		return value[int](b, "Math.round(scrollY)") == to
	})
}

// ScrollPart scrolls the part of the page with an id to a distance from its left edge, in CSS pixels.
func (b *Tab) ScrollPart(id string, to int) {
	b.Helper()
	value[int](b, fmt.Sprintf("document.getElementById(%q).scrollTo({left: %d, behavior: 'instant'}), 0", id, to))
	b.PartScrolled(id, to)
}

// PartScrolled waits until the part of the page with an id is scrolled to a distance from its left edge.
func (b *Tab) PartScrolled(id string, to int) {
	b.Helper()
	mustertest.Eventually(b, fmt.Sprintf("%s is %d px to the right", id, to), func() bool {
		return value[int](b, fmt.Sprintf("Math.round(document.getElementById(%q)?.scrollLeft ?? -1)", id)) == to
	})
}

// Fits checks that the part of the page with an id shows its content without scrolling to the right.
func (b *Tab) Fits(id string) {
	b.Helper()
	wide := value[int](b, fmt.Sprintf("(e => e.scrollWidth - e.clientWidth)(document.getElementById(%q))", id))
	if wide > 0 {
		b.Errorf("%s: %s is %d px too wide", b.URL(), id, wide)
	}
}

// Field returns the value of the form's field with an id.
func (b *Tab) Field(id string) string {
	b.Helper()
	return value[string](b, fmt.Sprintf("document.getElementById(%q)?.value ?? ''", id))
}

// Entered returns the value of the hidden field with a name.
func (b *Tab) Entered(name string) string {
	b.Helper()
	return value[string](b, fmt.Sprintf("document.querySelector(`main input[name=${CSS.escape(%q)}]`)?.value ?? ''",
		name))
}
