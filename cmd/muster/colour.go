package main

import "io"

// A palette colours texts on a terminal. The zero palette leaves them as they are.
type palette struct{ on bool }

// Colours, as parameters of the sequence Select Graphic Rendition. Source: ECMA-48.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
	violet = "35"
	cyan   = "36"
)

// paletteOf returns the palette of an output: colours on a terminal, unless the environment has NO_COLOR.
// Source: https://no-color.org.
func (a *app) paletteOf(w io.Writer) palette {
	return palette{isTerminal(w) && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"}
}

// paint returns text in a colour.
func (p palette) paint(colour, text string) string {
	if !p.on || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
