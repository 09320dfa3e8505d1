package console

import (
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
	return v.showStatus(statusOf(f), name, p)
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
