package wire

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	maxListed = 10 // violations that a message spells out
	maxShown  = 64 // characters of an offending value that a message shows
)

// A step is a member on the way from the input to a value. index counts from 1 while the way leads through a list, key
// is set while it leads through a map.
type step struct {
	name  string
	index int
	key   string
	part  string // of the map entry: "key" or "value"
}

// A checker collects what is wrong with an input. Its path says which structure, list or map is being looked at.
type checker struct {
	path  []step
	count int
	texts []string
}

// clear forgets all violations and the path, and keeps the path's memory.
func (c *checker) clear() {
	clear(c.path[:cap(c.path)])
	c.path = c.path[:0]
	c.count, c.texts = 0, nil
}

// enter steps into a member; name is in camel case, as messages show it.
func (c *checker) enter(name string) { c.path = append(c.path, step{name: name}) }

// leave steps out again.
func (c *checker) leave() { c.path = c.path[:len(c.path)-1] }

// item moves on to element i, from 0, of the list that was entered last.
func (c *checker) item(i int) { c.path[len(c.path)-1].index = i + 1 }

// entry moves on to an entry of the map that was entered last.
func (c *checker) entry(key string) {
	top := &c.path[len(c.path)-1]
	top.key, top.part = key, "value"
}

// entryKey moves on to the key of an entry of the map that was entered last.
func (c *checker) entryKey(key string) {
	top := &c.path[len(c.path)-1]
	top.key, top.part = key, "key"
}

// whole moves back from the elements to the list or map that was entered last.
func (c *checker) whole() { c.path[len(c.path)-1] = step{name: c.path[len(c.path)-1].name} }

// location spells a member's path: "tags.1.member.key". An empty name is the element at which the path ends.
func (c *checker) location(name string) string {
	var b strings.Builder
	for i, s := range c.path {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.name)
		switch {
		case s.index > 0:
			b.WriteByte('.')
			b.WriteString(strconv.Itoa(s.index))
			b.WriteString(".member")
		case s.part != "":
			b.WriteByte('.')
			b.WriteString(shorten(s.key))
			b.WriteByte('.')
			b.WriteString(s.part)
		}
	}
	if name != "" && b.Len() > 0 {
		b.WriteByte('.')
	}
	b.WriteString(name)
	return b.String()
}

// violate notes that a value breaks a constraint.
func (c *checker) violate(name, value, constraint string) {
	c.count++
	if len(c.texts) < maxListed {
		c.texts = append(c.texts, fmt.Sprintf("Value %s at '%s' failed to satisfy constraint: %s", value,
			c.location(name), constraint))
	}
}

// missing notes that a required member, or an element of a list, is absent.
func (c *checker) missing(name string) { c.violate(name, "null", "Member must not be null") }

// verdict is the fault for what was found, nil when nothing was. Source: the wording that AWS services use for their
// validation errors.
func (c *checker) verdict() error {
	if c.count == 0 {
		return nil
	}
	noun := "errors"
	if c.count == 1 {
		noun = "error"
	}
	text := strings.Join(c.texts, "; ")
	if more := c.count - len(c.texts); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return fault.New(fault.InvalidRequest, "%d validation %s detected: %s", c.count, noun, text)
}

// A textRule holds the constraints of a string shape.
type textRule struct {
	min, max  int // in characters; max 0: none
	pattern   *pattern
	enum      []string // the values of an enumeration
	sensitive bool
}

// text checks a string that is present. Empty strings are the decoder's matter, which knows whether they are present.
func (c *checker) text(name, value string, r *textRule) {
	if value != "" {
		c.checkText(name, value, r)
	}
}

// checkText checks a string against everything its shape demands.
func (c *checker) checkText(name, value string, r *textRule) {
	if r.enum != nil {
		if !slices.Contains(r.enum, value) {
			c.violate(name, r.show(value), "Member must satisfy enum value set: "+enumSet(r.enum))
		}
		return
	}
	if len(value) < r.min*utf8.UTFMax || r.max > 0 && len(value) > r.max {
		c.checkLength(name, value, r)
	}
	if r.pattern != nil && !r.pattern.match(value) {
		c.violate(name, r.show(value), "Member must satisfy regular expression pattern: "+r.pattern.source)
	}
}

// checkLength counts the characters of a string whose bytes leave it open whether there are too few or too many.
func (c *checker) checkLength(name, value string, r *textRule) {
	n := utf8.RuneCountInString(value)
	if n < r.min {
		c.violate(name, r.show(value), "Member must have length greater than or equal to "+strconv.Itoa(r.min))
	}
	if r.max > 0 && n > r.max {
		c.violate(name, r.show(value), "Member must have length less than or equal to "+strconv.Itoa(r.max))
	}
}

// show is a value as messages quote it.
func (r *textRule) show(value string) string {
	if r.sensitive {
		return "'***'"
	}
	return "'" + shorten(value) + "'"
}

// A rangeRule holds the bounds of a number, or of how many elements or bytes something has. A nil bound does not bind.
type rangeRule struct {
	min, max  *float64
	sensitive bool
}

func bound(v float64) *float64 { return &v }

// number checks a number. Every integer of the model's ranges is exact as a float64.
func (c *checker) number(name string, f float64, r *rangeRule) {
	switch {
	case r.min != nil && !(f >= *r.min): // so that NaN is outside
		c.violate(name, r.show(f), "Member must have value greater than or equal to "+formatFloat(*r.min))
	case r.max != nil && !(f <= *r.max):
		c.violate(name, r.show(f), "Member must have value less than or equal to "+formatFloat(*r.max))
	}
}

// show is a number as messages quote it.
func (r *rangeRule) show(v float64) string {
	if r.sensitive {
		return "'***'"
	}
	return "'" + formatFloat(v) + "'"
}

// size checks how many elements (unit "members") or bytes something has.
func (c *checker) size(name string, n int, unit string, r *rangeRule) {
	shown := "'***'"
	if !r.sensitive {
		shown = "'[" + strconv.Itoa(n) + " " + unit + "]'"
	}
	if r.min != nil && float64(n) < *r.min {
		c.violate(name, shown, "Member must have length greater than or equal to "+formatFloat(*r.min))
	}
	if r.max != nil && float64(n) > *r.max {
		c.violate(name, shown, "Member must have length less than or equal to "+formatFloat(*r.max))
	}
}

// formatFloat writes whole numbers without a fraction or an exponent.
func formatFloat(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// shorten cuts a value for a message.
func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	n := 0
	for i := range s {
		if n == maxShown {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// maxEnumShown is how many values of an enumeration a message lists; instance types come in hundreds.
const maxEnumShown = 40

// enumSet lists the values of an enumeration.
func enumSet(values []string) string {
	more := ""
	if len(values) > maxEnumShown {
		values, more = values[:maxEnumShown], ", …"
	}
	return "[" + strings.Join(values, ", ") + more + "]"
}
