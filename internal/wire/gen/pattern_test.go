package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestPatterns holds that every pattern of the model compiles, that those with
// Java's notation for characters beyond the first plane match as they do there,
// and that all match whole values only.
func TestPatterns(t *testing.T) {
	m, err := loadModel("../model/gamelift.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range m.sorted() {
		if _, err := regexp.Compile(goPattern(s.Pattern)); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
	for _, c := range []struct {
		shape, value string
		want         bool
	}{
		{"LaunchTemplateId", "é漢😀 \n", true},
		{"LaunchTemplateId", "\x01", false},
		{"WeightedCapacity", "199", true},
		{"WeightedCapacity", "099", false},
		{"WeightedCapacity", "1990", false},
		{"IamRoleArn", "arn:aws:iam::111122223333:role/a+b", true},
		{"IamRoleArn", "arn:aws:iam::111122223333:role/a b", false},
		{"FleetIdOrArn", "fleet-1234", true},
		{"FleetIdOrArn", "containerfleet-1", true},
		{"FleetIdOrArn", "arn:aws:gamelift:eu-central-1::fleet/fleet-1", true},
		{"FleetIdOrArn", "fleet-1\n", false},
		{"FleetIdOrArn", "xx fleet-1", false},
		{"GameServerGroupName", "a-b.c", true},
		{"GameServerGroupName", "a_b", false},
		{"NonBlankAndLengthConstraintString", "  ", false},
		{"NonBlankAndLengthConstraintString", " x ", true},
		{"NonNegativeLimitedLengthDouble", "12.5", true},
		{"NonNegativeLimitedLengthDouble", "12.", false},
		{"PlayerSessionId", "psess-漢", true},
		{"PlayerSessionId", "psess-", false},
		{"PlayerSessionId", "psess-a b", false},
	} {
		pattern := m.shapes[c.shape].Pattern
		if got := regexp.MustCompile(goPattern(pattern)).MatchString(c.value); got != c.want {
			t.Errorf("%s %s matches %q: %t", c.shape, pattern, c.value, got)
		}
	}
}

// TestSimplify compares the tables of simple patterns with the regular expressions
// that they stand for.
func TestSimplify(t *testing.T) {
	m, err := loadModel("../model/gamelift.json")
	if err != nil {
		t.Fatal(err)
	}
	rnd, found := rand.New(rand.NewPCG(1, 1)), 0
	for _, shape := range m.sorted() {
		expr := goPattern(shape.Pattern)
		s, ok := simplify(expr)
		if shape.Pattern == "" || !ok {
			continue
		}
		found++
		re := regexp.MustCompile(expr)
		for range 500 {
			value := randomText(rnd, s.prefix)
			if got, want := s.match(value), re.MatchString(value); got != want {
				t.Fatalf("%s %s: table says %t, expression %t for %q", shape.name, shape.Pattern, got, want, value)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d simple patterns", found)
	}
	for _, expr := range []string{`^(?:a|b+)$`, `^(?:(?i)a[b]+)$`, `^(?:[é-ü]+)$`, `^(?:a+b+)$`} {
		if s, ok := simplify(expr); ok {
			t.Errorf("%s became %+v", expr, s)
		}
	}
}

// match is what pattern.match of package wire does with the table.
func (s simple) match(value string) bool {
	rest, ok := strings.CutPrefix(value, s.prefix)
	if !ok || s.some && rest == "" {
		return false
	}
	for _, b := range []byte(rest) {
		if s.class[b>>6]&(1<<(b&63)) == 0 {
			return false
		}
	}
	return true
}

// randomText has a prefix now and then, mostly letters that patterns name, and
// sometimes any character.
func randomText(rnd *rand.Rand, prefix string) string {
	var b strings.Builder
	if rnd.IntN(4) > 0 {
		b.WriteString(prefix)
	}
	for range rnd.IntN(6) {
		if rnd.IntN(6) == 0 {
			fmt.Fprintf(&b, "%c", []rune("\x00\t\n \v !\"/\\_~\x7f\u0080é漢😀")[rnd.IntN(17)])
		} else {
			b.WriteByte("abcXYZ019-.:/"[rnd.IntN(13)])
		}
	}
	return b.String()
}

// TestConstant holds the spelling of constants.
func TestConstant(t *testing.T) {
	for value, want := range map[string]string{
		"ACTIVE": "XActive", "AMAZON_LINUX_2023": "XAmazonLinux2023", "NoProtection": "XNoProtection",
		"c5.2xlarge": "XC52xlarge", "on-demand": "XOnDemand",
	} {
		if got := constant("X", value); got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
}
