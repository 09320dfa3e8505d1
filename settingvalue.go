package muster

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

var (
	regionName    = regexp.MustCompile(`^[a-z]{2}-[a-z]+-\d$`)
	accountNumber = regexp.MustCompile(`^\d{12}$`)
	dayCount      = regexp.MustCompile(`^(\d+)d(.*)$`)
)

// value is a field of a Config as text.
type value struct {
	kind  string
	text  func() string
	plain func() any
	set   func(string) error
	check func() error        // whether the field's present value is allowed
	shown func(string) string // an item of a list without its secrets; nil: it has none
}

func text(field *string, check func(string) error) value {
	return value{
		kind:  "text",
		text:  func() string { return *field },
		plain: func() any { return *field },
		set:   func(s string) error { *field = s; return nil },
		check: func() error {
			if check == nil {
				return nil
			}
			return check(*field)
		},
	}
}

func choice(field *string, choices ...string) value {
	kind := strings.Join(choices, ", ")
	v := text(field, func(s string) error {
		if !slices.Contains(choices, s) {
			return fmt.Errorf("%q is not one of %s", s, kind)
		}
		return nil
	})
	v.kind = kind
	return v
}

func number(field *int, least, most int) value {
	return value{
		kind:  fmt.Sprintf("number, %d to %d", least, most),
		text:  func() string { return strconv.Itoa(*field) },
		plain: func() any { return *field },
		set: func(s string) error {
			n, err := strconv.Atoi(s)
			if err != nil {
				return fmt.Errorf("%q is not a whole number", s)
			}
			*field = n
			return nil
		},
		check: func() error {
			if *field < least || *field > most {
				return fmt.Errorf("%d is not between %d and %d", *field, least, most)
			}
			return nil
		},
	}
}

func duration(field *time.Duration, least, most time.Duration) value {
	return value{
		kind:  fmt.Sprintf("duration, %s to %s", formatDuration(least), formatDuration(most)),
		text:  func() string { return formatDuration(*field) },
		plain: func() any { return formatDuration(*field) },
		set: func(s string) error {
			d, err := parseDuration(s)
			if err != nil {
				return err
			}
			*field = d
			return nil
		},
		check: func() error {
			if *field < least || *field > most {
				return fmt.Errorf("%s is not between %s and %s", formatDuration(*field), formatDuration(least), formatDuration(most))
			}
			return nil
		},
	}
}

// list holds host names; see listOf.
func list(field *[]string) value { return listOf(field, hostName) }

func hostName(s string) error {
	if strings.ContainsAny(s, " /:@") && net.ParseIP(s) == nil {
		return fmt.Errorf("%q is neither a host name nor an IP address", s)
	}
	return nil
}

// listOf holds texts that pass a check; in a flag and in the environment commas
// separate them.
func listOf(field *[]string, check func(string) error) value {
	return value{
		kind:  "list",
		text:  func() string { return strings.Join(*field, ",") },
		plain: func() any { return append([]string{}, *field...) },
		set: func(s string) error {
			var names []string
			for name := range strings.SplitSeq(s, ",") {
				if name = strings.TrimSpace(name); name != "" {
					names = append(names, name)
				}
			}
			*field = names
			return nil
		},
		check: func() error {
			for _, item := range *field {
				if err := check(item); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// hiding is a list whose items may hold secrets; shown returns one without them.
func (v value) hiding(shown func(string) string) value {
	v.shown = shown
	return v
}

// parseDuration reads Go's syntax, with whole days before it: 30d, 1d12h, 90s.
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

// formatDuration writes what parseDuration reads, without units that are zero:
// 30d, 1d12h, 1m30s.
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

func optional(check func(string) error) func(string) error {
	return func(s string) error {
		if s == "" {
			return nil
		}
		return check(s)
	}
}

func notEmpty(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("must not be empty")
	}
	return nil
}

func matching(pattern *regexp.Regexp, what string) func(string) error {
	return func(s string) error {
		if !pattern.MatchString(s) {
			return fmt.Errorf("%q is not %s", s, what)
		}
		return nil
	}
}

func address(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return fmt.Errorf("%q is not an address such as 127.0.0.1:9080 or :9080", s)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q has no port between 0 and 65535", s)
	} else if strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("%q has a port with leading zeros", s)
	}
	return nil
}

// maxEndpoint is the length that a GameLiftServiceSdkEndpoint may have.
// Source: API reference, Compute.
const maxEndpoint = 128

// webSocketURL refuses what server SDKs could not extend with their own query.
// Source: server SDK 5 source, WebSocket connection.
func webSocketURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Hostname() == "":
		return fmt.Errorf("%q is not a URL such as wss://games.example.com:9080", s)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fmt.Errorf("%q must not have a user, a query or a fragment", u.Redacted())
	case len(s) > maxEndpoint:
		return fmt.Errorf("is longer than %d characters", maxEndpoint)
	}
	return nil
}
