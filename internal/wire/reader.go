package wire

import (
	"fmt"
	"math"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A reader is what the readers of both protocols share: the path and the violations of the checker, and the failure
// that ended the reading.
type reader struct {
	checker
	failure *fault.Error // the first one; from then on no structure has a next member
	name    string       // of the member at hand; may point into the body
}

func (r *reader) common() *reader { return r }

// fail ends the reading: the value of a member is not what the model says.
func (r *reader) fail(name, want, got string) {
	if r.failure != nil {
		return
	}
	where := "the request body"
	if l := r.location(name); l != "" {
		where = fmt.Sprintf("'%s'", l)
	}
	r.failure = fault.New(fault.Serialization, "Cannot read %s: expected %s, got %s.", where, want, got)
}

// judge notes a string that is present, empty and must not be: absent and empty are the same once it is in its
// structure.
func (r *reader) judge(name, value string, rule *textRule) {
	if value == "" && rule != nil {
		r.checkText(name, value, rule)
	}
}

// Timestamps must lie in the years 1 to 9999, which every client can show; the first second of year 1 is left out since
// it is the zero time, which means absent.
const (
	minSeconds = -62135596799
	maxSeconds = 253402300799
)

// timeOf makes a time of epoch seconds, rounded to milliseconds; ok is false when it is outside of what a timestamp may
// be.
func timeOf(seconds float64) (t time.Time, ok bool) {
	if !(seconds >= minSeconds && seconds <= maxSeconds) {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(math.Round(seconds * 1000))).UTC(), true
}

// wholeOf makes an integer of a float; ok is false when it has a fraction or is too large.
func wholeOf(f float64) (n int64, ok bool) {
	if f != math.Trunc(f) || !(f >= -1<<63 && f < 1<<63) {
		return 0, false
	}
	return int64(f), true
}

// fits reports whether n is an integer of so many bits.
func fits(n int64, bits int) bool { return bits == 64 || n >= math.MinInt32 && n <= math.MaxInt32 }

// integerOf says what an integer member wants, for a message.
func integerOf(bits int) string { return fmt.Sprintf("an integer of %d bits", bits) }
