package policy

import (
	"fmt"
	"strings"
)

// SyntaxError reports why a document was refused, and where.
type SyntaxError struct {
	Statement int    // from 1; 0 if the problem is not within a statement
	Sid       string // of the statement; "" if it has none
	Element   string // "Action", "Condition", …; "" if the problem is not within an element
	Reason    string

	unknown bool // a part that this version does not know: ParseLenient goes on
}

// Error is one line: the place, then the reason.
func (e *SyntaxError) Error() string {
	var place []string
	if e.Statement > 0 {
		at := fmt.Sprintf("statement %d", e.Statement)
		if e.Sid != "" {
			at += " (Sid " + e.Sid + ")"
		}
		place = append(place, at)
	}
	if e.Element != "" {
		place = append(place, e.Element)
	}
	if place == nil {
		return e.Reason
	}
	return strings.Join(place, ", ") + ": " + e.Reason
}
