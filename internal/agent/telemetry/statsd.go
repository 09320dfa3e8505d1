package telemetry

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A kind is the type of a value.
type kind byte

// The kinds. DogStatsD's timers, histograms and distributions are one here.
const (
	counter kind = 'c'
	gauge   kind = 'g'
	timing  kind = 'h'
	set     kind = 's'
)

// A sample is the content of one line.
type sample struct {
	name   string
	kind   kind
	values []float64 // of all kinds but sets
	member string    // of a set
	weight float64   // how many values each one stands for; at least 1
	tags   []tag     // sorted by name
}

type tag struct{ name, value string }

// Tags by which the SDK names the process and the game session of a value. Source: GameLift server SDK 5, metrics.
const (
	processTag = "gamelift_process_id"
	sessionTag = "session_id"
)

// Bounds of a line.
const (
	maxValues = 1000
	maxTags   = 20
	maxLength = 200 // bytes of a name, and of a tag with its value
)

var errMalformed = errors.New("not a line of DogStatsD")

// parse reads a line of DogStatsD's protocol: NAME:VALUE[:VALUE…]|TYPE[|@RATE][|#TAG:VALUE,…]. It ignores fields that
// it does not know.
//
// Source: Datadog, DogStatsD datagram format, protocol 1.0 to 1.3.
func parse(line string) (s sample, err error) {
	name, rest, found := strings.Cut(line, ":")
	fields := strings.Split(rest, "|")
	if !found || name == "" || len(name) > maxLength || len(fields) < 2 {
		return s, errMalformed
	}
	s = sample{name: name, weight: 1}
	if err := s.readValues(fields[0], fields[1]); err != nil {
		return s, err
	}
	for _, f := range fields[2:] {
		switch {
		case strings.HasPrefix(f, "@"):
			rate, err := strconv.ParseFloat(f[1:], 64)
			if err != nil || !(rate > 0 && rate <= 1) {
				return s, errMalformed
			}
			s.weight = 1 / rate
		case strings.HasPrefix(f, "#"):
			if err := s.readTags(f[1:]); err != nil {
				return s, err
			}
		}
	}
	if math.IsInf(s.weight, 0) {
		return s, errMalformed
	}
	return s, nil
}

func (s *sample) readValues(text, kindName string) error {
	switch kindName {
	case "c":
		s.kind = counter
	case "g":
		s.kind = gauge
	case "ms", "h", "d":
		s.kind = timing
	case "s":
		s.kind, s.member = set, text
		if len(text) > maxLength {
			return errMalformed
		}
		return nil
	default:
		return errMalformed
	}
	parts := strings.Split(text, ":")
	if len(parts) > maxValues {
		return errMalformed
	}
	for _, part := range parts {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return errMalformed
		}
		s.values = append(s.values, v)
	}
	return nil
}

func (s *sample) readTags(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, ":")
		if name == "" {
			continue
		}
		if len(part) > maxLength || len(s.tags) == maxTags {
			return errMalformed
		}
		s.tags = append(s.tags, tag{name, value})
	}
	slices.SortStableFunc(s.tags, func(a, b tag) int { return strings.Compare(a.name, b.name) })
	s.tags = slices.CompactFunc(s.tags, func(a, b tag) bool { return a.name == b.name }) // the first one counts
	return nil
}

// take removes a tag and returns its value.
func (s *sample) take(name string) (value string) {
	s.tags = slices.DeleteFunc(s.tags, func(t tag) bool {
		if t.name == name {
			value = t.value
		}
		return t.name == name
	})
	return value
}
