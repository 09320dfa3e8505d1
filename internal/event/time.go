package event

import "time"

// Time is a moment in milliseconds since the Unix epoch: the resolution that the API shows. Zero means "never" or "not
// yet".
type Time int64

// At converts a wall-clock time.
func At(t time.Time) Time { return Time(t.UnixMilli()) }

// Add returns the moment d later.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Milliseconds()) }

// Sub returns the time from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Millisecond }

// Time converts back, in UTC; zero becomes the zero time.
func (t Time) Time() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(t)).UTC()
}
