// Package style has what all pages share: the design tokens and parts of a style sheet, and the headers that protect
// them.
package style

import _ "embed" // of the style sheet

// CSS is the style sheet.
//
//go:embed muster.css
var CSS []byte
