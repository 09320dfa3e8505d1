package journal

import (
	"context"
	"fmt"
	"strings"
)

// History keeps finished things for a time (30 days by default), outside
// memory. Each entry has a subject: tokens separated by dots, such as
// "session.fleet-1.gsess-2". All methods may be called by many goroutines at
// the same time.
type History interface {
	// Put stores an entry and is durable when it returns. Putting a subject again
	// replaces the entry and makes it the newest; that is why repeating a Put
	// whose fate is unknown does no harm. The error is ErrTooLarge for more than
	// MaxEntry bytes.
	Put(ctx context.Context, subject string, data []byte) error

	// Get returns the entry with this subject; ok is false when there is none, or
	// none any more. The data belongs to the caller.
	Get(ctx context.Context, subject string) (data []byte, ok bool, err error)

	// List calls visit with the entries whose subject matches filter, oldest put
	// first, beginning with the first one after the given number (0: from the
	// first), up to the newest at the time of the call. In a filter the token "*"
	// stands for any one token, and a last token ">" for one or more. The data is
	// visit's only until it returns; visit's false ends the list.
	List(ctx context.Context, filter string, after uint64, visit func(seq uint64, subject string, data []byte) bool) error

	// Last is the number of the entry that was put last, also of one that is gone;
	// 0 when there never was one. Every later one has a larger number.
	Last(ctx context.Context) (seq uint64, err error)
}

// MaxEntry is the largest entry of a history, in bytes.
const MaxEntry = 4 << 20

// maxSubject is the longest subject in bytes. The engine stores the length of a
// subject in 16 bits and puts a prefix before it.
const maxSubject = 4096

// CheckSubject says what is wrong with the subject of a history entry: it has
// one or more tokens separated by dots, none of them empty or a wildcard, no
// white space and no control characters, and at most 4096 bytes.
func CheckSubject(subject string) error {
	return checkTokens(subject, func(token string, _ bool) bool { return token != "*" && token != ">" })
}

// CheckFilter says what is wrong with the filter of a History's List: a subject
// in which a token may be "*" and the last one ">".
func CheckFilter(filter string) error {
	return checkTokens(filter, func(token string, last bool) bool { return token != ">" || last })
}

func checkTokens(subject string, allowed func(token string, last bool) bool) error {
	if len(subject) > maxSubject {
		return fmt.Errorf("history subject of %d bytes is longer than %d", len(subject), maxSubject)
	}
	if strings.ContainsFunc(subject, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("history subject %q holds white space or control characters", subject)
	}
	for rest, more := subject, true; more; {
		var token string
		token, rest, more = strings.Cut(rest, ".")
		if token == "" {
			return fmt.Errorf("history subject %q has an empty token", subject)
		}
		if !allowed(token, !more) {
			return fmt.Errorf("history subject %q has a wildcard where none may stand", subject)
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
