package journal

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A History is the sequence of batches of ended things, oldest first. Batches are numbered in the order of their
// appends, with gaps, and kept for a time (30 days by default). All methods are safe for concurrent use.
//
// Releases before the batches stored each ended thing by itself, under a subject. A history may still contain such
// entries: Follow returns them in their place, with their subject.
type History interface {
	// Append stores a batch durably after all others and returns its number. The error is ErrTooLarge for more than
	// MaxEntry bytes. After any other error the outcome is unknown: the batch may be stored, or be stored later.
	Append(ctx context.Context, data []byte) (seq uint64, err error)

	// Follow calls visit with the batches and entries after the given number (0: from the first), oldest first, and
	// then with new ones as they are stored, until visit returns an error (returned unchanged) or ctx is done (its
	// cause). It skips what was deleted, some time after the deletion in a cluster, and never visits what could still
	// be lost. The data is valid until visit returns.
	Follow(ctx context.Context, after uint64, visit func(Stored) error) error

	// Bounds returns what is stored at the time of the call. known is the number of a batch that is known to be stored,
	// or 0: in a cluster, the call waits a while for a leader that has it.
	Bounds(ctx context.Context, known uint64) (Bounds, error)

	// NewestEntry returns the number of the newest entry with a subject; 0 if there is none.
	NewestEntry(ctx context.Context) (seq uint64, err error)

	// DropThrough deletes all batches and entries up to the given number.
	DropThrough(ctx context.Context, seq uint64) error
}

// Bounds describes the contents of a History.
type Bounds struct {
	First  uint64    // the oldest that exists; Last+1 when there is none
	Last   uint64    // the newest, even if it was deleted; 0: there never was one
	Bytes  uint64    // of all that exists, with what the engine adds
	Oldest time.Time // when First was stored; zero when there is none
}

// MaxEntry is the maximum size of a batch of a history, in bytes.
const MaxEntry = 4 << 20

// maxSubject is the longest subject in bytes. The engine stores the length of a subject in 16 bits and puts a prefix
// before it.
const maxSubject = 4096

// CheckSubject checks a subject: one or more tokens separated by dots, none of them empty or a wildcard, no white space
// and no control characters, at most 4096 bytes.
func CheckSubject(subject string) error {
	if len(subject) > maxSubject {
		return fmt.Errorf("subject of %d bytes is longer than %d", len(subject), maxSubject)
	}
	if strings.ContainsFunc(subject, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("subject %q contains white space or control characters", subject)
	}
	for token := range strings.SplitSeq(subject, ".") {
		switch token {
		case "":
			return fmt.Errorf("subject %q has an empty token", subject)
		case "*", ">":
			return fmt.Errorf("subject %q has a wildcard", subject)
		}
	}
	return nil
}
