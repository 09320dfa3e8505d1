package console

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A field is a setting that a form changes, as text.
type field struct{ Label, Text string }

// A difference is a setting whose stored value is not the typed one.
type difference struct{ Label, Stored, Typed string }

// A conflict refuses a form that was made from values which another person has changed since. The page shows both
// values, and its form is made from the stored ones: sent once more, it replaces them.
type conflict struct {
	reason error
	fields []difference
}

func (c *conflict) Error() string { return c.reason.Error() }
func (c *conflict) Unwrap() error { return c.reason }

// basisOf returns a hash of settings. A form that changes them carries it in its field basis.
func basisOf(stored []field) string {
	sum := sha256.New()
	for _, f := range stored {
		sum.Write([]byte(f.Label + "\x00" + lined(f.Text) + "\x00"))
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// lined returns a text as browsers send it, with the line ends of this service, and without empty lines at its ends.
func lined(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }

// edited refuses a form whose settings are no longer stored as it was made from. stored and typed have the same labels.
// The API replaces without a condition, so two forms that arrive within the same milliseconds are not told apart.
func (v *visit) edited(what string, stored, typed []field) error {
	if v.form("basis") == basisOf(stored) {
		return nil
	}
	c := &conflict{reason: fault.New(fault.Conflict, "%s was changed after this form was opened. Compare what is "+
		"stored now with what you typed, then send the form again to replace it.", what)}
	for i, f := range stored {
		if before, after := lined(f.Text), lined(typed[i].Text); before != after {
			c.fields = append(c.fields, difference{f.Label, before, after})
		}
	}
	if len(c.fields) == 0 {
		return nil // both typed the same
	}
	return c
}

// basis returns what the form of a page is made from. One that is shown again keeps its own, unless it was refused for
// a conflict, which the page shows.
func (v *visit) basis(stored []field, refused error) string {
	_, conflicts := errors.AsType[*conflict](refused)
	if given := v.form("basis"); refused != nil && given != "" && !conflicts {
		return given
	}
	return basisOf(stored)
}

// absent refuses to create what exists: the requests of operators would replace it.
func (v *visit) absent(kind string, collection, key string) error {
	if key == "" {
		return invalid("name: type a name.")
	}
	err := v.request("GET", in(collection, key), nil, nil)
	switch {
	case err == nil:
		return fault.New(fault.Conflict, "%s %.64s exists. Change it on its page.", kind, key)
	case fault.Is(err, fault.NotFound):
		return nil
	}
	return err
}
