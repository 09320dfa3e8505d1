package console

import (
	"slices"
	"strings"
)

// A column is a column of a list.
type column struct {
	Name   string // in the query string
	Title  string
	Number bool
	Extra  bool   // it is shown only if it is chosen
	Href   string // of the page in the order of the column; "": none
	Sorted string // as aria-sort; "": the page is not in the order of the column

	part string // of the page, that has its values; "": every row has them
}

// columns are those of a list, in the order of the page. The first one is always shown.
type columns []column

// Has reports whether a column is shown.
func (cs columns) Has(name string) bool { return cs.index(name) >= 0 }

func (cs columns) index(name string) int {
	return slices.IndexFunc(cs, func(c column) bool { return c.Name == name })
}

// Of returns the number of the columns whose values are of a part of the page.
func (cs columns) Of(part string) (n int) {
	for _, c := range cs {
		if c.part == part {
			n++
		}
	}
	return n
}

// without returns the columns but for those of some parts of the page.
func (cs columns) without(parts ...string) columns {
	return slices.DeleteFunc(slices.Clone(cs), func(c column) bool { return slices.Contains(parts, c.part) })
}

// text returns the value of the query for the columns that were chosen: "" for the usual ones.
func (cs columns) text(chosen []string) string {
	for _, c := range cs[1:] {
		if slices.Contains(chosen, c.Name) == c.Extra {
			return strings.Join(chosen, ",")
		}
	}
	return ""
}

// A columnChoice is a column that can be shown.
type columnChoice struct {
	Name, Title string
	On          bool
	Hidden      bool // the page does not have it: the form keeps it, so that the address is that of other pages
}

// choose returns the columns that a value of the query shows, and what can be chosen. missing are the parts that the
// page does not have.
func (cs columns) choose(text string, missing ...string) (shown columns, choices []columnChoice) {
	chosen := strings.Split(text, ",")
	has := cs.without(missing...)
	none := !slices.ContainsFunc(chosen, has.Has)
	for i, c := range cs {
		on, hidden := i == 0 || none && !c.Extra || slices.Contains(chosen, c.Name), !has.Has(c.Name)
		if i > 0 && (on || !hidden) {
			choices = append(choices, columnChoice{c.Name, c.Title, on, hidden})
		}
		if on && !hidden {
			shown = append(shown, c)
		}
	}
	return shown, choices
}

// shortColumns returns a shorter address of a list whose form has sent a value for each column; "": there is none.
func (v *visit) shortColumns(path string, all columns) string {
	chosen := v.r.URL.Query()["columns"]
	if len(chosen) < 2 {
		return ""
	}
	return v.listAddress(path, "columns", all.text(chosen))
}
