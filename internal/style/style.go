// Package style has the design tokens and the shared parts of all pages, as a style sheet.
package style

import _ "embed" // of the style sheet

// CSS is the style sheet.
//
//go:embed muster.css
var CSS []byte
