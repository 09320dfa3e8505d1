package browser

import "fmt"

// Hide hides the page, or shows it again. A browser without a window hides no tab behind another one, so that the page
// is notified of what it would be notified of.
func (b *Tab) Hide(hidden bool) {
	b.Helper()
	value[int](b, fmt.Sprintf(`(Object.defineProperty(document, "hidden", {configurable: true, get: () => %t}),
		document.dispatchEvent(new Event("visibilitychange")), 0)`, hidden))
}
