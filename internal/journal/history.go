package journal

import (
	"context"
	"fmt"
	"strings"
)

// History keeps ended things outside memory for a time (30 days by default). Each entry has a subject: tokens separated
// by dots, such as "session.fleet-1.gsess-2". All methods are safe for concurrent use.
type History interface {
	// Put stores an entry durably. A Put with the same subject replaces the entry and makes it the newest, so a Put
	// with unknown outcome can be repeated. The error is ErrTooLarge for more than MaxEntry bytes.
	Put(ctx context.Context, subject string, data []byte) error

	// Get returns the entry with this subject; ok is false if there is none, or none any more. The data belongs to the
	// caller.
	Get(ctx context.Context, subject string) (data []byte, ok bool, err error)

	// List calls visit with the entries whose subject matches filter, in the order of their Puts, starting after the
	// given number (0: with the first), up to the newest at the time of the call. In a filter the token "*" matches any
	// one token, and a last token ">" one or more. The data is valid until visit returns; false ends the list.
	List(ctx context.Context, filter string, after uint64,
		visit func(seq uint64, subject string, data []byte) bool) error

	// Last returns the number of the newest entry, even if it was deleted; 0 if there never was one. Every later one
	// has a larger number.
	Last(ctx context.Context) (seq uint64, err error)
}

// MaxEntry is the largest entry of a history, in bytes.
const MaxEntry = 4 << 20

// maxSubject is the longest subject in bytes. The engine stores the length of a subject in 16 bits and puts a prefix
// before it.
const maxSubject = 4096

// CheckSubject checks the subject of a history entry: one or more tokens separated by dots, none of them empty or a
// wildcard, no white space and no control characters, at most 4096 bytes.
func CheckSubject(subject string) error {
	return checkTokens(subject, func(token string, _ bool) bool { return token != "*" && token != ">" })
}

// CheckFilter checks the filter of a History's List: a subject in which a token may be "*" and the last one ">".
func CheckFilter(filter string) error {
	return checkTokens(filter, func(token string, last bool) bool { return token != ">" || last })
}

func checkTokens(subject string, allowed func(token string, last bool) bool) error {
	if len(subject) > maxSubject {
		return fmt.Errorf("history subject of %d bytes is longer than %d", len(subject), maxSubject)
	}
	if strings.ContainsFunc(subject, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("history subject %q contains white space or control characters", subject)
	}
	for rest, more := subject, true; more; {
		var token string
		token, rest, more = strings.Cut(rest, ".")
		if token == "" {
			return fmt.Errorf("history subject %q has an empty token", subject)
		}
		if !allowed(token, !more) {
			return fmt.Errorf("history subject %q has a wildcard where none is allowed", subject)
		}
	}
	return nil
}

// Match reports whether a subject matches the filter of a History's List.
func Match(filter, subject string) bool {
	for {
		want, restWant, moreWant := strings.Cut(filter, ".")
		have, restHave, moreHave := strings.Cut(subject, ".")
		switch {
		case want == ">" && !moreWant:
			return true
		case want != "*" && want != have:
			return false
		case moreWant != moreHave:
			return false
		case !moreWant:
			return true
		}
		filter, subject = restWant, restHave
	}
}
