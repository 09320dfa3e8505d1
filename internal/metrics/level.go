package metrics

import (
	"time"

	"github.com/muster-gg/muster/internal/journal"
)

// A level is the frames of one length.
type level int

// The levels, from the samples to the coarsest roll-up.
const (
	samples level = iota
	minutes
	fiveMinutes
	hours
	Levels // their number
)

// step is the length of a level's frames, and chunk how many of them are read together from its feed.
var steps = [Levels]struct {
	step  time.Duration
	chunk int64
}{
	samples:     {10 * time.Second, 360},
	minutes:     {time.Minute, 60},
	fiveMinutes: {5 * time.Minute, 144},
	hours:       {time.Hour, 240},
}

// inMemory is how long frames stay in memory; 0: they do not.
var inMemory = [Levels]time.Duration{samples: 3 * time.Hour, minutes: 6 * time.Hour}

// DefaultRetention is CloudWatch's, by level. Source: CloudWatch user guide, metrics retention.
var DefaultRetention = [Levels]time.Duration{
	samples: 3 * time.Hour, minutes: 15 * day, fiveMinutes: 63 * day, hours: 455 * day,
}

const day = 24 * time.Hour

// Step returns the length of the frames of each feed.
func Step(i int) time.Duration { return steps[i].step }

// Feeds are the durable frames of the levels, each with its own retention.
type Feeds [Levels]journal.Audit

// frameAt returns the number of the frame that begins at, or includes, a time. Numbers count from 1970.
func (l level) frameAt(t time.Time) int64 { return floor(t.Unix(), int64(steps[l].step/time.Second)) }

// begin returns when a frame begins.
func (l level) begin(frame int64) time.Time {
	return time.Unix(frame*int64(steps[l].step/time.Second), 0).UTC()
}

// samplesIn returns the number of samples of a full frame.
func (l level) samplesIn() int { return int(steps[l].step / steps[samples].step) }

// floor divides and rounds down.
func floor(n, by int64) int64 {
	q := n / by
	if n%by < 0 {
		q--
	}
	return q
}
