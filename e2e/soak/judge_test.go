//go:build unix

package soak

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// course makes a profile whose first series goes as asked, and whose others rest.
func course(value func(at time.Duration) float64) *profile {
	p := newProfile(time.Minute, false)
	for at := time.Duration(0); at < 11*time.Minute; at += 5 * time.Second {
		s := sample{at: at, values: make([]float64, len(p.series))}
		for i := range s.values {
			s.values[i] = 100
		}
		s.values[0] = value(at)
		p.add(s)
	}
	return p
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		name  string
		value func(at time.Duration) float64
		flat  bool
	}{
		{"rest", func(time.Duration) float64 { return 100 }, true},
		{"teeth of a saw", func(at time.Duration) float64 { return 100 + float64(at/time.Second%50) }, true},
		{"a warm-up that grows", func(at time.Duration) float64 { return min(100, at.Minutes()*100) }, true},
		{"one bad minute", func(at time.Duration) float64 {
			if at > 9*time.Minute && at < 10*time.Minute {
				return 1000
			}
			return 100
		}, true},
		{"a fall", func(at time.Duration) float64 { return 200 - 10*at.Minutes() }, true},
		{"a leak of 3 a minute", func(at time.Duration) float64 { return 100 + 3*at.Minutes() }, false},
		{"a step at the end", func(at time.Duration) float64 {
			if at > 8*time.Minute {
				return 120
			}
			return 100
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := course(c.value)
			verdicts := p.judge()
			if len(verdicts) != len(p.series) {
				t.Fatalf("%d verdicts on %d series", len(verdicts), len(p.series))
			}
			if got := verdicts[0]; got.flat != c.flat {
				t.Errorf("flat %t, want %t: %v to %v, slope %v", got.flat, c.flat, got.start, got.end, got.perMinute)
			}
			for _, v := range verdicts[1:] {
				if !v.flat {
					t.Errorf("%s rests and is called growing", v.name)
				}
			}
			if err := wellFormed(p.svg("a < b & c")); err != nil {
				t.Errorf("picture: %v", err)
			}
		})
	}
}

// Calls that take longer because the machine does are no fault of the service.
func TestYardstick(t *testing.T) {
	for factor, flat := range map[float64]bool{1: false, 1.8: true} {
		p := course(func(time.Duration) float64 { return 100 })
		for i, at := range p.times {
			if at < 7*time.Minute {
				continue
			}
			for _, s := range p.series {
				switch s.name {
				case yardstick:
					s.values[i] *= factor
				case "p50 of calls":
					s.values[i] *= 2
				}
			}
		}
		for _, v := range p.judge() {
			if want := flat || v.name != "p50 of calls"; v.flat != want {
				t.Errorf("yardstick × %v: %s flat %t, want %t", factor, v.name, v.flat, want)
			}
		}
	}
}

func TestTooFewSamples(t *testing.T) {
	p := newProfile(time.Minute, false)
	for at := range time.Duration(leastSamples - 1) {
		p.add(sample{at: time.Minute + at*time.Second, values: make([]float64, len(p.series))})
	}
	if v := p.judge(); v != nil {
		t.Errorf("%d verdicts on %d samples", len(v), len(p.times))
	}
}

func TestSlope(t *testing.T) {
	p := course(func(at time.Duration) float64 { return 100 + 3*at.Minutes() })
	if got := slope(p.times, p.series[0].values); got < 2.99 || got > 3.01 {
		t.Errorf("slope %v, want 3", got)
	}
}

func TestShortNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.25: "0.25", 1: "1", 2.5: "2.5", 10: "10", 12.34: "12.3", 123.4: "123", -3.1: "-3.1",
	} {
		if got := shortNumber(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

// wellFormed reports what is wrong with an XML text.
func wellFormed(text string) error {
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestCalm(t *testing.T) {
	// after makes calls every 10 ms for two seconds; those before until were bad.
	after := func(until time.Duration, bad moment) *record {
		r := &record{before: &measure{accepted: []time.Duration{time.Millisecond}}, after: &measure{}}
		for at := time.Duration(0); at < 2*time.Second; at += 10 * time.Millisecond {
			m := moment{took: time.Millisecond}
			if at < until {
				m = bad
			}
			m.at = at
			r.after.moments = append(r.after.moments, m)
		}
		return r
	}
	for _, c := range []struct {
		name string
		*record
		want time.Duration
	}{
		{"at once", after(0, moment{}), 0},
		{"refusals", after(550*time.Millisecond, moment{throttled: true}), 600 * time.Millisecond},
		{"slow answers", after(400*time.Millisecond, moment{took: time.Second}), 400 * time.Millisecond},
		{"slow answers, fewer than half of them in the last tenth",
			after(440*time.Millisecond, moment{took: time.Second}), 400 * time.Millisecond},
		{"not at all", after(time.Minute, moment{throttled: true}), 2 * time.Second},
	} {
		if got := c.calm(); got != c.want {
			t.Errorf("%s: calm after %s, want %s", c.name, got, c.want)
		}
	}
}
