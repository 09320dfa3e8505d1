package config

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

var dayCount = regexp.MustCompile(`^(\d+)d(.*)$`)

// A value is a field of a Config as text.
type value struct {
	kind  string
	text  func() string
	plain func() any
	set   func(string) error
	check func() error        // of the present value
	shown func(string) string // an item of a list without its secrets; may be nil

	former string // former name of the setting, accepted with a warning; may be ""
}

// formerly returns the value of a setting that was renamed.
func (v value) formerly(name string) value {
	v.former = name
	return v
}

// of returns the value of a field with its format.
func of[T any](kind string, field *T, format func(T) string, parse func(string) (T, error), check func(T) error) value {
	return value{
		kind:  kind,
		text:  func() string { return format(*field) },
		plain: func() any { return *field },
		set: func(s string) error {
			v, err := parse(s)
			if err == nil {
				*field = v
			}
			return err
		},
		check: func() error { return check(*field) },
	}
}

// bounded returns the value of a field from least to most.
func bounded[T cmp.Ordered](
	kind string, field *T, least, most T, format func(T) string, parse func(string) (T, error),
) value {
	return of(fmt.Sprintf("%s, %s to %s", kind, format(least), format(most)), field, format, parse, func(v T) error {
		if v < least || v > most {
			return fmt.Errorf("%s is not between %s and %s", format(v), format(least), format(most))
		}
		return nil
	})
}

func number(field *int, least, most int) value {
	return bounded("number", field, least, most, strconv.Itoa, func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil {
			return 0, fmt.Errorf("%q is not a whole number", s)
		}
		return n, nil
	})
}

func duration(field *time.Duration, least, most time.Duration) value {
	v := bounded("duration", field, least, most, formatDuration, parseDuration)
	v.plain = func() any { return v.text() }
	return v
}

// text returns the value of a string, with a check that may be nil.
func text(field *string, check func(string) error) value {
	if check == nil {
		check = func(string) error { return nil }
	}
	same := func(s string) string { return s }
	return of("text", field, same, func(s string) (string, error) { return s, nil }, check)
}

func choice(field *string, choices ...string) value {
	v := text(field, func(s string) error {
		if !slices.Contains(choices, s) {
			return fmt.Errorf("%q is not one of %s", s, strings.Join(choices, ", "))
		}
		return nil
	})
	v.kind = strings.Join(choices, ", ")
	return v
}

// toggle returns the value of a field that is "off" or On.
func toggle(field *string) value { return choice(field, "off", On) }

// list returns the value of strings with a check, separated by commas in a flag and in the environment.
func list(field *[]string, check func(string) error) value {
	join := func(items []string) string { return strings.Join(items, ",") }
	split := func(s string) (items []string, err error) {
		for item := range strings.SplitSeq(s, ",") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
		return items, nil
	}
	v := of("list", field, join, split, func(items []string) error {
		for _, item := range items {
			if err := check(item); err != nil {
				return err
			}
		}
		return nil
	})
	v.plain = func() any { return append([]string{}, *field...) }
	return v
}

// hiding sets the function that removes secrets from an item.
func (v value) hiding(shown func(string) string) value {
	v.shown = shown
	return v
}

// parseDuration reads Go's syntax with optional leading days: 30d, 1d12h, 90s.
func parseDuration(s string) (time.Duration, error) {
	malformed := fmt.Errorf("%q is not a duration such as 90s, 5m, 3h or 30d", s)
	m := dayCount.FindStringSubmatch(s)
	if m == nil {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, malformed
		}
		return d, nil
	}
	days, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || days > int64(math.MaxInt64/day) {
		return 0, malformed
	}
	rest, err := time.ParseDuration(cmp.Or(m[2], "0"))
	if err != nil || rest < 0 || rest > math.MaxInt64-time.Duration(days)*day {
		return 0, malformed
	}
	return time.Duration(days)*day + rest, nil
}

// formatDuration formats for parseDuration, without zero units: 30d, 1d12h, 1m30s.
func formatDuration(d time.Duration) string {
	var out string
	if d >= day {
		out = strconv.FormatInt(int64(d/day), 10) + "d"
		if d %= day; d == 0 {
			return out
		}
	}
	rest := d.String()
	if strings.HasSuffix(rest, "m0s") {
		rest = strings.TrimSuffix(rest, "0s")
	}
	if strings.HasSuffix(rest, "h0m") {
		rest = strings.TrimSuffix(rest, "0m")
	}
	return out + rest
}
