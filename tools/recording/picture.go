package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
	"time"
)

const (
	charWidth, lineHeight, margin = 8, 18, 14 // pixels; margin is around the text

	// The demo takes half a second. Its pauses are lengthened, and kept within these limits.
	slowdown          = 5
	shortest, longest = 180 * time.Millisecond, 700 * time.Millisecond

	firstPause, lastPause = time.Second, 4 * time.Second
)

// styles are attributes of SVG by the parameter of Select Graphic Rendition.
var styles = map[string]string{
	"1": ` font-weight="bold" fill="#fff"`, "2": ` fill="#9198a1"`, "31": ` fill="#ff7b72"`, "32": ` fill="#56d364"`,
	"33": ` fill="#e3b341"`, "34": ` fill="#79c0ff"`, "35": ` fill="#d2a8ff"`, "36": ` fill="#56d4dd"`,
}

// picture returns the recording as SVG. Its text scrolls up behind a frame, and a cover over the rows that are not
// printed yet goes down.
func picture(all []line) []byte {
	var text, scroll, cover bytes.Buffer
	rows, pauses := layout(all)
	var total, now time.Duration
	for _, p := range pauses {
		total += p
	}
	var scrolled, covered int
	for i, row := range rows {
		fmt.Fprintf(&text, `<text y="%d">%s</text>`+"\n", (i+1)*lineHeight-5, row)
		scrolled, covered = max(0, i+1-lines)*lineHeight, (i+1)*lineHeight
		at := 100 * now.Seconds() / total.Seconds()
		fmt.Fprintf(&scroll, "%.2f%%{transform:translateY(%dpx)}", at, -scrolled)
		fmt.Fprintf(&cover, "%.2f%%{transform:translateY(%dpx)}", at, covered)
		now += pauses[i]
	}
	w, h := columns*charWidth, lines*lineHeight
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d">
<title>muster demo in a terminal</title>
<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:#d3dae3}
.scroll{transform:translateY(%dpx);animation:scroll %.1fs step-end infinite}
.cover{transform:translateY(%dpx);animation:cover %.1fs step-end infinite}
@keyframes scroll{%s}
@keyframes cover{%s}
@media (prefers-reduced-motion){.scroll,.cover{animation:none}}
</style>
<rect x=".5" y=".5" width="%d" height="%d" rx="6" fill="#161b22" stroke="#444c56"/>
<svg x="%d" y="%d" width="%d" height="%d">
<g class="scroll">
%s<rect class="cover" width="100%%" height="%d" fill="#161b22"/>
</g>
</svg>
</svg>
`, w+2*margin, h+2*margin, w+2*margin, h+2*margin, -scrolled, total.Seconds(), covered, total.Seconds(),
		scroll.Bytes(), cover.Bytes(), w+2*margin-1, h+2*margin-1, margin, margin, w, h, text.Bytes(),
		len(rows)*lineHeight)
	return out.Bytes()
}

// layout returns the rows of the terminal as the content of text elements, and the pause after each.
func layout(all []line) (rows []string, pauses []time.Duration) {
	rows, pauses = []string{draw("$ muster demo")[0]}, []time.Duration{firstPause}
	for i, l := range all {
		pause := lastPause
		if i+1 < len(all) {
			pause = min(max(slowdown*(all[i+1].at-l.at), shortest), longest)
		}
		for _, row := range draw(l.text) {
			rows, pauses = append(rows, row), append(pauses, 0) // the rows of a line appear together
		}
		pauses[len(pauses)-1] = pause
	}
	return rows, pauses
}

var rendition = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// draw wraps a line at the width of the terminal. Each part with a style has its own position, because the widths of
// fonts differ.
func draw(text string) (rows []string) {
	var row strings.Builder
	column := 0
	put := func(part, style string) {
		for part := []rune(part); len(part) > 0; {
			if column == columns {
				rows, column = append(rows, row.String()), 0
				row.Reset()
			}
			n := min(columns-column, len(part))
			if strings.TrimSpace(string(part[:n])) != "" {
				fmt.Fprintf(&row, `<tspan x="%d"%s>`, column*charWidth, style)
				xml.EscapeText(&row, []byte(string(part[:n]))) //nolint:errcheck // a Builder returns none
				row.WriteString("</tspan>")
			}
			part, column = part[n:], column+n
		}
	}
	style, from := "", 0
	for _, m := range rendition.FindAllStringSubmatchIndex(text, -1) {
		put(text[from:m[0]], style)
		style, from = styles[text[m[2]:m[3]]], m[1]
	}
	put(text[from:], style)
	return append(rows, row.String())
}
