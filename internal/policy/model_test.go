package policy

import (
	"encoding/json"
	"math/big"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"
)

// This file evaluates policies by the book: slowly, from the document's JSON, with regular expressions. It shares no
// code with the compiled form.

// A modelRequest is a request with its keys in a map.
type modelRequest struct {
	action, resource string
	keys             map[string][]string
	principals       []string // of trust policies
	federated        bool
}

func (r *modelRequest) lookup(key string) ([]string, bool) {
	values, ok := r.keys[key]
	return values, ok
}

// The outcomes of an evaluation.
const (
	allowed  = "allow"
	denied   = "deny" // no statement matches
	explicit = "explicit deny"
)

// model evaluates documents together.
func model(r *modelRequest, documents ...string) string {
	outcome := denied
	for _, text := range documents {
		var d map[string]any
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&d); err != nil {
			panic(err)
		}
		m := modelDocument{variables: d["Version"] == "2012-10-17", r: r}
		for _, s := range listOf(d["Statement"]) {
			s := s.(map[string]any)
			if !m.statement(s) {
				continue
			}
			if s["Effect"] == "Deny" {
				return explicit
			}
			outcome = allowed
		}
	}
	return outcome
}

func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

type modelDocument struct {
	variables bool
	r         *modelRequest
}

func (m modelDocument) statement(s map[string]any) bool {
	action := func(v any) bool {
		return compiled("(?i)" + globRegexp(v.(string), false)).MatchString(m.r.action)
	}
	if list, ok := s["Action"]; ok && !slices.ContainsFunc(listOf(list), action) {
		return false
	}
	if list, ok := s["NotAction"]; ok && slices.ContainsFunc(listOf(list), action) {
		return false
	}
	if list, ok := s["Resource"]; ok && !slices.ContainsFunc(listOf(list), m.resource) {
		return false
	}
	if list, ok := s["NotResource"]; ok && slices.ContainsFunc(listOf(list), m.resource) {
		return false
	}
	if p, ok := s["Principal"]; ok && !m.principal(p, s["Effect"] == "Deny") {
		return false
	}
	blocks, _ := s["Condition"].(map[string]any)
	for operator, keys := range blocks {
		for key, want := range keys.(map[string]any) {
			if !m.condition(operator, modelKey(key), listOf(want)) {
				return false
			}
		}
	}
	return true
}

func (m modelDocument) principal(p any, deny bool) bool {
	if p == "*" {
		return deny || !m.r.federated
	}
	kind := map[bool]string{true: "Federated", false: "AWS"}[m.r.federated]
	names, ok := p.(map[string]any)[kind]
	return ok && slices.ContainsFunc(listOf(names), func(v any) bool {
		return v == "*" && !m.r.federated || slices.Contains(m.r.principals, v.(string))
	})
}

// expressions are the regular expressions that were compiled before: compiling takes most of the model's time.
var expressions = map[string]*regexp.Regexp{}

func compiled(expression string) *regexp.Regexp {
	re, ok := expressions[expression]
	if !ok {
		re = regexp.MustCompile(expression)
		if len(expressions) > 10_000 {
			clear(expressions)
		}
		expressions[expression] = re
	}
	return re
}

// globRegexp is a pattern without variables as a regular expression.
func globRegexp(text string, literalOnly bool) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case c == '*' && !literalOnly:
			b.WriteString(".*")
		case c == '?' && !literalOnly:
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return `(?s:^` + b.String() + `$)`
}

var modelVariable = regexp.MustCompile(`\$\{([^}]*)\}`)

// Characters of a private area stand for the text of variables while wildcards are read.
const firstPlaceholder = 0xF0000

// substitute replaces variables by placeholders, so that their text is neither a wildcard nor a separator. ok is false
// if one has no value.
func (m modelDocument) substitute(text string) (out string, values []string, ok bool) {
	if !m.variables {
		return text, nil, true
	}
	ok = true
	out = modelVariable.ReplaceAllStringFunc(text, func(v string) string {
		name := v[2 : len(v)-1]
		value := name
		if name != "*" && name != "?" && name != "$" {
			name, fallback, hasDefault := strings.Cut(name, ",")
			switch got := m.r.keys[modelKey(strings.TrimSpace(name))]; {
			case len(got) == 1:
				value = got[0]
			case len(got) == 0 && hasDefault:
				value = strings.Trim(strings.TrimSpace(fallback), "'")
			default:
				ok = false
			}
		}
		values = append(values, value)
		return string(rune(firstPlaceholder + len(values) - 1))
	})
	return out, values, ok
}

// fits compares a text with a pattern.
func (m modelDocument) fits(text, s string, wild bool) bool {
	text, values, ok := m.substitute(text)
	return ok && fitsPlaceholders(text, values, s, wild)
}

func fitsPlaceholders(text string, values []string, s string, wild bool) bool {
	expression := globRegexp(text, !wild)
	for i, value := range values {
		expression = strings.ReplaceAll(expression, string(rune(firstPlaceholder+i)), regexp.QuoteMeta(value))
	}
	return compiled(expression).MatchString(s)
}

func (m modelDocument) resource(v any) bool {
	return v == "*" || m.arn(v.(string), m.r.resource, true)
}

func (m modelDocument) arn(text, s string, ours bool) bool {
	text, values, ok := m.substitute(text)
	want, got := strings.SplitN(text, ":", 6), strings.SplitN(s, ":", 6)
	if !ok || len(want) != 6 || len(got) != 6 {
		return false
	}
	for i := range want {
		if ours && got[i] == "" && (i == 3 || i == 4) { // region and account
			continue
		}
		if !fitsPlaceholders(want[i], values, got[i], true) {
			return false
		}
	}
	return true
}

// modelKey is a key in its canonical spelling.
func modelKey(name string) string {
	for _, known := range []string{"aws:CurrentTime", "aws:EpochTime", "aws:MultiFactorAuthPresent", "aws:PrincipalArn",
		"aws:PrincipalType", "aws:RequestedRegion", "aws:SecureTransport", "aws:SourceIp", "aws:TagKeys",
		"aws:TokenIssueTime", "aws:UserAgent", "aws:userid", "aws:username", "sts:ExternalId", "sts:RoleSessionName",
		"sts:SourceIdentity", "accounts.google.com:aud", "accounts.google.com:sub"} {
		if strings.EqualFold(name, known) {
			return known
		}
	}
	for _, prefix := range []string{"aws:PrincipalTag/", "aws:RequestTag/", "aws:ResourceTag/"} {
		if len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			return prefix + name[len(prefix):]
		}
	}
	panic("unknown key " + name)
}

func (m modelDocument) condition(operator, key string, want []any) bool {
	got := m.r.keys[key]
	if operator == "Null" {
		return slices.ContainsFunc(want, func(v any) bool {
			return strings.EqualFold(scalar(v), "true") == (len(got) == 0)
		})
	}
	quantifier, base, found := strings.Cut(operator, ":")
	if !found {
		quantifier, base = "", operator
	}
	base, ifExists := strings.CutSuffix(base, "IfExists")
	positive := strings.Replace(base, "Not", "", 1)
	negated := positive != base
	satisfied := func(value string) bool {
		any := slices.ContainsFunc(want, func(v any) bool { return m.compare(positive, value, scalar(v)) })
		return any != negated
	}
	if len(got) == 0 {
		switch quantifier {
		case "ForAllValues":
			return true
		case "ForAnyValue":
			return ifExists
		}
		return ifExists || negated
	}
	if quantifier == "ForAllValues" || quantifier == "" && negated {
		return !slices.ContainsFunc(got, func(v string) bool { return !satisfied(v) })
	}
	return slices.ContainsFunc(got, satisfied)
}

func scalar(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// compare applies a positive operator to one value of the request and one of the policy.
func (m modelDocument) compare(operator, got, want string) bool {
	switch operator {
	case "StringEquals":
		return m.fits(want, got, false)
	case "StringEqualsIgnoreCase":
		text, values, ok := m.substitute(want)
		for i, v := range values {
			text = strings.ReplaceAll(text, string(rune(firstPlaceholder+i)), v)
		}
		return ok && strings.EqualFold(text, got)
	case "StringLike":
		return m.fits(want, got, true)
	case "ArnEquals", "ArnLike":
		return m.arn(want, got, false)
	case "Bool":
		return strings.EqualFold(got, want) && (strings.EqualFold(got, "true") || strings.EqualFold(got, "false"))
	case "IpAddress":
		return modelAddress(got, want)
	}
	for _, kind := range []string{"Numeric", "Date"} {
		if relation, ok := strings.CutPrefix(operator, kind); ok {
			order, ok := modelOrder(kind, got, want)
			switch relation {
			case "Equals":
				return ok && order == 0
			case "LessThan":
				return ok && order < 0
			case "LessThanEquals":
				return ok && order <= 0
			case "GreaterThan":
				return ok && order > 0
			case "GreaterThanEquals":
				return ok && order >= 0
			}
		}
	}
	panic("unknown operator " + operator)
}

func modelAddress(got, want string) bool {
	address := net.ParseIP(strings.Split(got, "%")[0])
	if !strings.Contains(want, "/") {
		return address != nil && address.Equal(net.ParseIP(want))
	}
	_, network, err := net.ParseCIDR(want)
	return err == nil && address != nil && network.Contains(address)
}

func modelOrder(kind, a, b string) (int, bool) {
	if kind == "Date" {
		x, okA := modelDate(a)
		y, okB := modelDate(b)
		return x.Cmp(y), okA && okB
	}
	x, fractionX, okA := modelNumber(a)
	y, fractionY, okB := modelNumber(b)
	if !okA || !okB {
		return 0, false
	}
	for ; fractionX < fractionY; fractionX++ {
		x.Mul(x, big.NewInt(10))
	}
	for ; fractionY < fractionX; fractionY++ {
		y.Mul(y, big.NewInt(10))
	}
	return x.Cmp(y), true
}

// modelNumber is a decimal as an integer and the number of its digits behind the point.
func modelNumber(s string) (n *big.Int, fraction int, ok bool) {
	if !compiled(`^[-+]?\d+(\.\d+)?$`).MatchString(s) {
		return nil, 0, false
	}
	if i := strings.IndexByte(s, '.'); i >= 0 {
		fraction = len(s) - i - 1
	}
	n, ok = new(big.Int).SetString(strings.ReplaceAll(s, ".", ""), 10)
	return n, fraction, ok
}

// modelDate is a date in nanoseconds.
func modelDate(s string) (*big.Int, bool) {
	nano := big.NewInt(1e9)
	if n, ok := new(big.Int).SetString(s, 10); ok && !strings.Contains(s, "_") {
		return nano.Mul(n, nano), len(strings.TrimLeft(s, "+-0")) <= 12
	}
	for _, layout := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			n := nano.Mul(big.NewInt(t.Unix()), nano)
			return n.Add(n, big.NewInt(int64(t.Nanosecond()))), true
		}
	}
	return big.NewInt(0), false
}
