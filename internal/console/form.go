package console

import (
	"errors"
	"strconv"
	"strings"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// refused shows a page with why the form of it was refused; nil: it was not.
func (v *visit) refused(name string, p page, err error) error {
	if err == nil {
		return v.show(name, p)
	}
	f := fault.Of(err)
	if f.Kind == fault.InternalService || f.Kind == fault.ServiceUnavailable {
		return err
	}
	p.Alert = string(f.Kind) + ": " + f.Message
	if c, ok := errors.AsType[*conflict](err); ok {
		p.Differences = c.fields
	}
	return v.showStatus(statusOf(f), name, p)
}

// needs refuses a page that is a form to people who may not send it.
func (v *visit) needs(action string) error {
	if v.may(action, nil) {
		return nil
	}
	return fault.New(fault.AccessDenied, "You need the permission %s to see this form.", action)
}

// shell returns words as a line of a POSIX shell.
func shell(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

// quote returns a word of a POSIX shell.
func quote(word string) string {
	plain := word != "" && strings.IndexFunc(word, func(r rune) bool {
		return !strings.ContainsRune("-_./:=@%+,", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') &&
			(r < 'A' || r > 'Z')
	}) < 0
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// invalid refuses a form.
func invalid(format string, args ...any) error {
	return fault.New(fault.InvalidRequest, format, args...)
}

// plural returns a number of things.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
