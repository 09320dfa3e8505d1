package browser

import (
	"fmt"

	"github.com/chromedp/cdproto/input"

	"github.com/muster-gg/muster/mustertest"
)

// at is an expression for the place in the first element of a selector, by shares of its width and height.
const at = `((selector, x, y) => {
	const e = document.querySelector(selector);
	e.scrollIntoView({block: "center", behavior: "instant"});
	const r = e.getBoundingClientRect();
	return {X: r.x + x * r.width, Y: r.y + y * r.height};
})(%q, %g, %g)`

// Hover moves the mouse to the middle of an element's height, at a share of its width.
func (b *Tab) Hover(selector string, x float64) {
	b.Helper()
	b.mouse(input.DispatchMouseEventTypeMouseMoved, selector, x, 0)
}

// Drag presses the mouse in an element at a share of its width, and releases it at another.
func (b *Tab) Drag(selector string, from, to float64) {
	b.Helper()
	b.Hover(selector, from)
	b.mouse(input.DispatchMouseEventTypeMousePressed, selector, from, 1)
	b.Hover(selector, (from+to)/2)
	b.Hover(selector, to)
	b.mouse(input.DispatchMouseEventTypeMouseReleased, selector, to, 1)
}

// DoubleClick clicks twice in the middle of an element.
func (b *Tab) DoubleClick(selector string) {
	b.Helper()
	b.Hover(selector, .5)
	for clicks := range 2 {
		b.mouse(input.DispatchMouseEventTypeMousePressed, selector, .5, clicks+1)
		b.mouse(input.DispatchMouseEventTypeMouseReleased, selector, .5, clicks+1)
	}
}

// mouse sends an event at a share of an element's width.
func (b *Tab) mouse(event input.DispatchMouseEventType, selector string, x float64, clicks int) {
	b.Helper()
	p := value[point](b, fmt.Sprintf(at, selector, x, .5))
	params := input.DispatchMouseEventParams{Type: event, X: p.X, Y: p.Y}
	if clicks > 0 {
		params.Button, params.ClickCount = input.MouseButtonLeft, int64(clicks)
	}
	call(b, input.DispatchMouseEvent, params)
}

// A Graph is what a page shows of a graph: its title, the value beside it, and whether it has the cross-hair.
type Graph struct {
	Title, Output string
	Hair          bool
}

// Graphs returns the graphs of the page.
func (b *Tab) Graphs() []Graph {
	b.Helper()
	return value[[]Graph](b, `[...document.querySelectorAll(".graph")].map((g) => ({
		Title: g.dataset.title,
		Output: g.querySelector("output").textContent,
		Hair: getComputedStyle(g.querySelector(".hair")).visibility === "visible",
	}))`)
}

// Downloaded clicks a button, and returns the name and the address of the file that a script of the page then saves.
func (b *Tab) Downloaded(selector string) (name, address string) {
	b.Helper()
	value[int](b, fmt.Sprintf(`(() => {
		delete window.saved;
		HTMLAnchorElement.prototype.click = function () { window.saved = { Name: this.download, At: this.href }; };
		document.querySelector(%q).click();
		return 0;
	})()`, selector))
	var saved *struct{ Name, At string }
	mustertest.Eventually(b, "the page saves a file", func() bool {
		saved = value[*struct{ Name, At string }](b, "window.saved ?? null")
		return saved != nil
	})
	value[int](b, "delete HTMLAnchorElement.prototype.click, 0")
	return saved.Name, saved.At
}

// GraphData returns the values of the graph with a title, as the page has them for its script.
func (b *Tab) GraphData(title string) string {
	b.Helper()
	return value[string](b, fmt.Sprintf("document.querySelector('.graph[data-title=%q]').dataset.values", title))
}
