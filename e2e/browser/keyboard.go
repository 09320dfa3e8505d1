package browser

import (
	"context"
	_ "embed" // of focused.js
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/muster-gg/muster/mustertest"
)

// TabKey and Enter are keys.
const (
	TabKey = kb.Tab   // goes to the next element
	Enter  = kb.Enter // activates an element
)

// maxTabs limits the search for an element with the keyboard.
const maxTabs = 100

// A focus is the element that has the keyboard.
type focus struct {
	Index         int // in the document; -1: no element has the keyboard
	Element, Name string
	Outline       string  // computed style
	Width         float64 // of the outline, in px
	Contrast      float64 // of the outline with what surrounds it
	Hidden        string  // why the element cannot be seen; "" if it can
}

// focused is an expression whose value is a focus.
//
//go:embed focused.js
var focused string

// Press presses the keys of a text where the keyboard is.
func (b *Tab) Press(keys string) { b.press(keys) }

func (b *Tab) press(keys string, options ...chromedp.KeyOption) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, mustertest.Patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.KeyEvent(keys, options...)); err != nil {
		b.Fatalf("press %q: %v", keys, err)
	}
}

// Palette presses Ctrl and K.
func (b *Tab) Palette() {
	b.Helper()
	b.press("k", chromedp.KeyModifiers(chromedp.ModifierCtrl))
}

// Focused returns the name of the element that has the keyboard, as screen readers read it; "" if no element has it.
// The element must show that it has the keyboard: by an outline of at least 2 px, with the contrast of WCAG 1.4.11.
func (b *Tab) Focused() string {
	b.Helper()
	return b.focus().Name
}

func (b *Tab) focus() focus {
	b.Helper()
	f := value[focus](b, focused)
	if f.Index < 0 {
		return f
	}
	problem := ""
	switch {
	case f.Name == "":
		problem = "has no name"
	case f.Hidden != "":
		problem = "has the keyboard, but " + f.Hidden
	case f.Outline == "none" || f.Width < 2:
		problem = fmt.Sprintf("does not show that it has the keyboard: outline %s, %v px", f.Outline, f.Width)
	case f.Contrast < 3:
		problem = fmt.Sprintf("has an outline with the contrast %.2f, want 3", f.Contrast)
	}
	if problem != "" {
		b.Errorf("%s: the %s %q %s", b.URL(), f.Element, f.Name, problem)
	}
	return f
}

// AwaitFocus waits until an element has the keyboard. A browser gives it to the element with the attribute autofocus
// some time after the page has loaded.
func (b *Tab) AwaitFocus() {
	b.Helper()
	mustertest.Eventually(b, "an element has the keyboard", func() bool { return b.focus().Index >= 0 })
}

// TabTo presses the tab key until an element whose name begins with a text has the keyboard.
func (b *Tab) TabTo(name string) {
	b.Helper()
	var passed []string
	for range maxTabs {
		b.Press(TabKey)
		now := b.Focused()
		if strings.HasPrefix(now, name) {
			return
		}
		passed = append(passed, now)
	}
	b.Fatalf("%s: the keyboard does not reach %q, only %q", b.URL(), name, passed)
}

// Stops presses the tab key through the whole page, and returns the names of the elements that it reaches.
func (b *Tab) Stops() (names []string) {
	b.Helper()
	// After the last element the browser gives the keyboard to no element, or to the first one.
	last, first := b.focus(), focus{}
	for range maxTabs {
		b.Press(TabKey)
		if first = b.focus(); first.Index < last.Index {
			break
		}
		last = first
	}
	now := first
	for range maxTabs {
		if now.Index >= 0 && (len(names) == 0 || now.Index > last.Index) {
			names, last = append(names, now.Name), now
		} else if len(names) > 0 {
			return names
		}
		b.Press(TabKey)
		now = b.focus()
	}
	b.Fatalf("%s: the keyboard does not leave the page: %q", b.URL(), names)
	return nil
}
