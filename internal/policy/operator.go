package policy

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A test compares one value of the request with one of the policy.
type test func(value string, keys lookup) bool

// An operator compiles a value of the policy. A negated operator holds if none of the tests do.
type operator struct {
	compile func(p *parser, element, text string) (test, error)
	negated bool
	text    bool // compares strings
}

// nullOperator tests whether the request has a key.
const nullOperator = "Null"

// operators are those that compare values.
// Source: IAM User Guide, "IAM JSON policy elements: Condition operators".
var operators = func() map[string]operator {
	all := map[string]operator{
		"Bool":      {compile: compileBool},
		"IpAddress": {compile: compileAddress}, "NotIpAddress": {compile: compileAddress, negated: true},
	}
	for name, compile := range map[string]func(p *parser, element, text string) (test, error){
		"Equals":           compileText(func(a, b string) bool { return a == b }),
		"EqualsIgnoreCase": compileText(strings.EqualFold),
		"Like":             compileLike,
	} {
		all["String"+name] = operator{compile: compile, text: true}
		all["StringNot"+name] = operator{compile: compile, text: true, negated: true}
	}
	for _, name := range []string{"Equals", "Like"} { // they are the same
		all["Arn"+name] = operator{compile: compileARN}
		all["ArnNot"+name] = operator{compile: compileARN, negated: true}
	}
	for name, holds := range map[string]func(int) bool{
		"Equals": func(c int) bool { return c == 0 }, "LessThan": func(c int) bool { return c < 0 },
		"LessThanEquals": func(c int) bool { return c <= 0 }, "GreaterThan": func(c int) bool { return c > 0 },
		"GreaterThanEquals": func(c int) bool { return c >= 0 },
	} {
		all["Numeric"+name] = operator{compile: compileOrdered("number", parseNumber, (*big.Rat).Cmp, holds)}
		all["Date"+name] = operator{compile: compileOrdered("date", parseDate, time.Time.Compare, holds)}
	}
	for _, kind := range []string{"Numeric", "Date"} {
		all[kind+"NotEquals"] = operator{compile: all[kind+"Equals"].compile, negated: true}
	}
	return all
}()

func compileText(equal func(a, b string) bool) func(*parser, string, string) (test, error) {
	return func(p *parser, element, text string) (test, error) {
		pattern, err := p.pattern(element, text, false)
		return func(value string, keys lookup) bool {
			want, ok := pattern.text(keys)
			return ok && equal(value, want)
		}, err
	}
}

func compileLike(p *parser, element, text string) (test, error) {
	pattern, err := p.pattern(element, text, true)
	return pattern.matches, err
}

func compileARN(p *parser, element, text string) (test, error) {
	pattern, err := p.arnPattern(element, text)
	return func(value string, keys lookup) bool {
		a, ok := splitARN(value)
		return ok && pattern.matches(&a, false, keys)
	}, err
}

func compileBool(p *parser, element, text string) (test, error) {
	want, ok := parseBool(text)
	if !ok {
		return nil, p.fail(element, "%q is neither true nor false", text)
	}
	return func(value string, _ lookup) bool {
		got, ok := parseBool(value)
		return ok && got == want
	}, nil
}

func parseBool(text string) (value, ok bool) {
	value = strings.EqualFold(text, "true")
	return value, value || strings.EqualFold(text, "false")
}

// compileOrdered compiles the operators that parse and compare values. A value of the request that cannot be parsed
// matches nothing.
func compileOrdered[T any](
	kind string, parse func(string) (T, bool), compare func(a, b T) int, holds func(int) bool,
) func(*parser, string, string) (test, error) {
	return func(p *parser, element, text string) (test, error) {
		want, ok := parse(text)
		if !ok {
			return nil, p.fail(element, "%q is not a %s", text, kind)
		}
		return func(value string, _ lookup) bool {
			got, ok := parse(value)
			return ok && holds(compare(got, want))
		}, nil
	}
}

var decimalNumber = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?$`)

// parseNumber reads a decimal exactly, without an exponent: its size stays that of the text.
func parseNumber(text string) (*big.Rat, bool) {
	if !decimalNumber.MatchString(text) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// maxEpoch bounds dates in seconds since 1970, so that they can be compared with every other date.
const maxEpoch = 1e12

// parseDate reads a date of RFC 3339, a day, or seconds since 1970.
func parseDate(text string) (time.Time, bool) {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(seconds, 0), -maxEpoch < seconds && seconds < maxEpoch
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// mappedBits is the length of the prefix that IPv4 addresses have in IPv6.
const mappedBits = 96

func compileAddress(p *parser, element, text string) (test, error) {
	prefix, err := netip.ParsePrefix(text)
	if address, addressErr := netip.ParseAddr(text); addressErr == nil && address.Zone() == "" {
		prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
	}
	if err == nil && prefix.Addr().Is4In6() {
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-mappedBits)
	}
	if err != nil || !prefix.IsValid() {
		return nil, p.fail(element, "%q is neither an IP address nor a range such as 203.0.113.0/24", text)
	}
	return func(value string, _ lookup) bool {
		address, err := netip.ParseAddr(value)
		return err == nil && prefix.Contains(address.WithZone("").Unmap())
	}, nil
}

// scalars returns the values of a condition as text: a value or a list of values.
func (p *parser) scalars(element string, v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if len(list) == 0 {
		return nil, p.fail(element, "the list is empty")
	}
	texts := make([]string, len(list))
	for i, v := range list {
		switch v := v.(type) {
		case string:
			texts[i] = v
		case json.Number:
			texts[i] = v.String()
		case bool:
			texts[i] = strconv.FormatBool(v)
		default:
			return nil, p.fail(element, "a value must be a string, a number or a boolean, not %s", typeName(v))
		}
	}
	return texts, nil
}

// texts returns a string or a list of strings.
func (p *parser) texts(element string, v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	isText := func(v any) bool { s, ok := v.(string); return ok && s != "" }
	if i := slices.IndexFunc(list, func(v any) bool { return !isText(v) }); i >= 0 {
		return nil, p.fail(element, "expected a string that is not empty, found %s", typeName(list[i]))
	}
	return p.scalars(element, v)
}
