package policy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A generator makes random policies and requests from few words, so that they often meet.
type generator struct{ *rand.Rand }

func (g generator) of(words ...string) string { return words[g.IntN(len(words))] }

func (g generator) chance(percent int) bool { return g.IntN(100) < percent }

// list is one text or several, as JSON.
func (g generator) list(one func() string) string {
	if g.chance(60) {
		return quote(one())
	}
	all := []string{quote(one())}
	for range g.IntN(3) {
		all = append(all, quote(one()))
	}
	return "[" + strings.Join(all, ",") + "]"
}

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

func (g generator) action() string {
	return g.of("*", "*:*", "gamelift:*", "gamelift:DeleteFleet", "gamelift:Delete*", "gamelift:*Fleet*",
		"GameLift:list*",
		"gamelift:ListFleets", "muster:*Read", "muster:UserRead", "gamelift:?eleteFleet", "*:*e*", "gamelift:*s")
}

func (g generator) text() string { return g.of("a", "b", "A", "ab", "team", "*", "?", "") }

func (g generator) pattern() string {
	var b strings.Builder
	for range 1 + g.IntN(3) {
		b.WriteString(g.of("a", "b", "*", "?", "${aws:username}", "${aws:PrincipalTag/t}", "${*}", "${?}", "$",
			"${aws:userid, 'b'}", "${aws:TagKeys}", "team"))
	}
	return b.String()
}

func (g generator) resource() string {
	if g.chance(35) {
		return "*"
	}
	return "arn:" + g.of("aws", "*", "aws*") + ":gamelift:" + g.of("*", "us-west-2", "us-*", "",
		"${aws:RequestedRegion}") +
		":" + g.of("*", "1", "?", "") + ":" + g.of("fleet/", "*/", "", "*") + g.pattern()
}

var stringOperators = []string{"StringEquals", "StringNotEquals", "StringEqualsIgnoreCase", "StringNotEqualsIgnoreCase",
	"StringLike", "StringNotLike"}

func (g generator) block() (operator, key, values string) {
	decorate := func(operator string) string {
		return g.of("", "", "ForAllValues:", "ForAnyValue:") + operator + g.of("", "", "IfExists")
	}
	ordered := func(kind string) string {
		return decorate(kind + g.of("Equals", "NotEquals", "LessThan", "LessThanEquals", "GreaterThan",
			"GreaterThanEquals"))
	}
	switch g.IntN(8) {
	case 0:
		return "Null", g.of("aws:username", "aws:SourceIp", "aws:TagKeys"), g.list(func() string {
			return g.of("true", "false")
		})
	case 1:
		return ordered("Numeric"), "aws:PrincipalTag/n", g.list(g.number)
	case 2:
		return ordered("Date"), g.of("aws:CurrentTime", "aws:EpochTime"), g.list(g.date)
	case 3:
		return decorate("Bool"), "aws:SecureTransport", g.list(func() string { return g.of("true", "False") })
	case 4:
		return decorate(g.of("IpAddress", "NotIpAddress")), "aws:SourceIp", g.list(func() string {
			return g.of("10.0.0.0/8", "10.1.0.1", "0.0.0.0/0", "::/0", "2001:db8::/32", "::ffff:10.0.0.0/104")
		})
	case 5:
		return decorate(g.of("ArnEquals", "ArnLike", "ArnNotEquals", "ArnNotLike")), "aws:PrincipalArn",
			g.list(func() string {
				return "arn:aws:iam::" + g.of("*", "1", "") + ":" + g.of("user/", "*/", "role/") + g.pattern()
			})
	}
	return decorate(g.of(stringOperators...)), g.of("aws:username", "aws:TagKeys", "aws:PrincipalTag/t", "AWS:userID"),
		g.list(g.pattern)
}

func (g generator) number() string { return g.of("0", "1", "1.0", "-1.5", "10", "0.10", "0.1") }

func (g generator) date() string {
	return g.of("0", "1767323045", "2026-01-02T03:04:05Z", "2026-01-02T04:04:05+01:00", "2026-01-02",
		"2026-01-02T03:04:05.1Z")
}

func (g generator) statement(effect string) string {
	s := `{"Effect":"` + effect + `","` + g.of("Action", "Action", "Action", "NotAction") + `":` + g.list(g.action) +
		`,"` +
		g.of("Resource", "Resource", "Resource", "NotResource") + `":` + g.list(g.resource)
	if g.chance(60) {
		blocks := map[string]map[string]json.RawMessage{}
		for range 1 + g.IntN(2) {
			operator, key, values := g.block()
			if blocks[operator] == nil {
				blocks[operator] = map[string]json.RawMessage{}
			}
			blocks[operator][key] = json.RawMessage(values)
		}
		b, _ := json.Marshal(blocks)
		s += `,"Condition":` + string(b)
	}
	return s + "}"
}

func (g generator) document() string {
	var all []string
	for range 1 + g.IntN(4) {
		all = append(all, g.statement(g.of("Allow", "Allow", "Allow", "Deny")))
	}
	text := document(strings.Join(all, ","))
	if g.chance(10) {
		text = strings.Replace(text, "2012-10-17", "2008-10-17", 1)
	}
	return text
}

func (g generator) request() *modelRequest {
	r := &modelRequest{keys: map[string][]string{}}
	r.action = g.of("gamelift:DeleteFleet", "gamelift:ListFleets", "muster:UserRead", "gamelift:DeleteAlias",
		"sts:AssumeRole")
	r.resource = g.of("*", "fleet-a", "arn:aws:gamelift:us-west-2:1:fleet/"+g.text(),
		"arn:aws:gamelift:us-west-2::fleet/"+
			g.text(), "arn:aws:gamelift:::"+g.of("ab", "alias/a", "x/team/a:b"))
	for key, value := range map[string]func() string{
		"aws:username": g.text, "aws:userid": g.text, "aws:PrincipalTag/t": g.text, "aws:TagKeys": g.text,
		"aws:PrincipalTag/n": func() string { return g.of(g.number(), g.number(), "x") }, "aws:CurrentTime": g.date,
		"aws:EpochTime":       g.date,
		"aws:RequestedRegion": func() string { return "us-west-2" },
		"aws:SecureTransport": func() string { return g.of("true", "false") },
		"aws:SourceIp":        func() string { return g.of("10.1.0.1", "::ffff:10.1.0.1", "2001:db8::1", "11.0.0.1") },
		"aws:PrincipalArn":    func() string { return "arn:aws:iam::1:" + g.of("user/", "role/") + g.text() },
	} {
		if g.chance(30) {
			continue
		}
		r.keys[key] = []string{value()}
		for g.chance(25) {
			r.keys[key] = append(r.keys[key], value())
		}
	}
	return r
}

// properties are what holds for all documents and requests; it reports the outcome.
func properties(t *testing.T, r *modelRequest, extra string, documents ...string) string {
	t.Helper()
	var s Set
	for i, text := range documents {
		s = append(s, Source{fmt.Sprint("p", i), mustParse(t, text)})
	}
	request := requestOf(t, r)
	d := s.Evaluate(request)
	got := outcomeOf(d)
	if want := model(r, documents...); got != want {
		t.Fatalf("%s, the model: %s\n%+v\n%s", got, want, r, strings.Join(documents, "\n"))
	}
	if always, ok := s.Always(request.Action); ok && always != d {
		t.Fatalf("%+v, always %+v\n%+v\n%s", d, always, r, strings.Join(documents, "\n"))
	}
	if stricter := append(s, Source{"deny", mustParse(t, extra)}).Evaluate(request); stricter.Allowed && !d.Allowed {
		t.Fatalf("a Deny allows\n%+v\n%s\n%s", r, extra, strings.Join(documents, "\n"))
	}
	for i, text := range documents {
		lenient, ignored, err := ParseLenient(text)
		if err != nil || ignored != nil {
			t.Fatal(err, ignored)
		}
		s[i].Document = lenient
	}
	if lenient := s.Evaluate(request); lenient != d {
		t.Fatalf("%+v, read leniently %+v\n%s", d, lenient, strings.Join(documents, "\n"))
	}
	return got
}

// TestProperties compares random policies with the model. The seed names the subtest.
func TestProperties(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range uint64(1000) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			g := generator{rand.New(rand.NewPCG(seed, 1))}
			documents := []string{g.document()}
			if g.chance(40) {
				documents = append(documents, g.document())
			}
			deny := document(g.statement("Deny"))
			for range 8 {
				outcomes[properties(t, g.request(), deny, documents...)]++
			}
		})
	}
	for _, outcome := range []string{allowed, denied, explicit} {
		if outcomes[outcome] < 500 {
			t.Errorf("the requests are one-sided: %v", outcomes)
		}
	}
}

// FuzzParse reads any text: it never panics, and what it accepts evaluates as in the model.
func FuzzParse(f *testing.F) {
	for seed := range uint64(20) {
		f.Add((generator{rand.New(rand.NewPCG(seed, 2))}).document(), seed)
	}
	for _, name := range Builtins() {
		text, _ := Builtin(name)
		f.Add(text, uint64(0))
	}
	f.Add(`{"Statement":[{"Sid":"`, uint64(1))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		_, _ = ParseTrust(text)
		_, ignored, lenientErr := ParseLenient(text)
		d, err := Parse(text)
		if (err == nil) != (lenientErr == nil && ignored == nil) {
			t.Fatalf("Parse: %v, ParseLenient: %v, %v", err, ignored, lenientErr)
		}
		if err != nil || strings.ContainsFunc(text, func(r rune) bool { return r >= firstPlaceholder }) {
			return
		}
		if again, err := Parse(d.Normalized()); err != nil || again.Normalized() != d.Normalized() {
			t.Fatal("the normalized text differs:", err)
		}
		g := generator{rand.New(rand.NewPCG(seed, 3))}
		for range 5 {
			properties(t, g.request(), document(g.statement("Deny")), text)
		}
	})
}
