package policy

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestRefused holds the errors of Parse: the place, and a part of the reason.
func TestRefused(t *testing.T) {
	const ok = `"Effect":"Allow","Action":"*","Resource":"*"`
	condition := func(text string) string { return `{` + ok + `,"Condition":` + text + `}` }
	with := func(element, value string) string {
		elements := map[string]string{"Effect": `"Allow"`, "Action": `"*"`, "Resource": `"*"`}
		elements[element] = value
		var all []string
		for _, name := range []string{"Sid", "Effect", "Action", "NotAction", "Resource", "NotResource", "Principal"} {
			if v := elements[name]; v != "" {
				all = append(all, `"`+name+`":`+v)
			}
		}
		return `{` + strings.Join(all, ",") + `}`
	}
	whole := func(text string) string { return "!" + text }
	for _, tt := range []struct {
		statement string // after "!": a whole document
		want      string // of the error's text
	}{
		{whole(``), "not valid JSON"},
		{whole(`{`), "not valid JSON"},
		{whole("{\n\n,}"), "(line 3)"},
		{whole(`[]`), "expected an object, found a list"},
		{whole(`"x"`), "found a string"},
		{whole(`null`), "found null"},
		{whole(`{}`), "Statement: the element is missing"},
		{whole(`{"Statement":null}`), "Statement: the element is missing"},
		{whole(`{"Statement":[]}`), "Statement: the list is empty"},
		{whole(`{"Statement":[5]}`), "statement 1: expected an object, found a number"},
		{whole(`{"Statement":{` + ok + `}} x`), "not valid JSON"},
		{whole(`{"Statement":{` + ok + `},"Statement":{` + ok + `}}`), `"Statement" is there twice`},
		{whole(`{"Version":"2012-10-18","Statement":{` + ok + `}}`), `Version: the version must be "2012-10-17"`},
		{whole(`{"Version":2012,"Statement":{` + ok + `}}`), `Version: the version`},
		{whole(`{"Id":5,"Statement":{` + ok + `}}`), `Id: expected a string, found a number`},
		{whole(`{"version":"2012-10-17","Statement":{` + ok + `}}`), `version: there is no such element`},
		{whole("{\"Statement\":{\"Sid\":\"\xff\"," + ok + "}}"), "UTF-8"},
		{whole(`{"Statement":[{"Sid":"A",` + ok + `},{"Sid":"A",` + ok + `}]}`), "statement 2 (Sid A), Sid: another"},
		{whole(`{"Statement":{` + ok + `,"Condition":{"StringLike":{"aws:username":"` + strings.Repeat("x", 6144) +
			`"}}}}`), "characters without blanks, more than 6144"},

		{`{` + ok + `,"Effect":"Allow"}`, `"Effect" is there twice`},
		{`{` + ok + `,"Condtion":{}}`, "statement 1, Condtion: there is no such element"},
		{with("Principal", `"*"`), "Principal: there is no such element in an identity policy"},
		{with("Sid", `"a b"`), "Sid: a Sid is a string of letters"},
		{with("Sid", `5`), "Sid: a Sid is a string of letters"},
		{with("Effect", `"allow"`), "Effect: the effect must be"},
		{with("Effect", ``), "Effect: the effect must be"},
		{with("Effect", `["Allow"]`), "Effect: the effect must be"},
		{with("Action", ``), "Action: the element is missing"},
		{with("NotAction", `"*"`), "Action: the statement also has NotAction"},
		{with("Action", `[]`), "Action: the list is empty"},
		{with("Action", `5`), "expected a string that is not empty, found a number"},
		{with("Action", `["*",true]`), "found a boolean"},
		{with("Action", `["*",["*"]]`), "found a list"},
		{with("Action", `{}`), "found an object"},
		{with("Action", `""`), "not empty"},
		{with("Action", `"gamelift:CreateFlet"`), `no action matches "gamelift:CreateFlet"`},
		{with("Action", `"gamelift:Fleet*"`), `no action matches`},
		{with("Action", `"MUSTER:Nothing"`), `no action matches`},
		{with("Action", `"iam:AddRole"`), `no action matches`},
		{with("Action", `"sts:Foo"`), `no action matches`},
		{with("Action", `"sqs:SendMessage"`), `"sqs:SendMessage" is an action of another service`},
		{with("Action", `"x*:*"`), `is an action of another service`},
		{with("Action", `"ListFleets"`), `has no service, as in "gamelift:ListFleets"`},
		{with("Action", `"**"`), `has no service`},
		{with("Action", `"gamelift:\u212Aey*"`), `no action matches`},
		{with("Action", `"muster:\u212AeyRead"`), `no action matches`},
		{with("Resource", ``), "Resource: the element is missing"},
		{with("NotResource", `"*"`), "Resource: the statement also has NotResource"},
		{with("Resource", `[]`), "Resource: the list is empty"},
		{with("Resource", `"fleet-1"`), "is not an ARN"},
		{with("Resource", `"**"`), "is not an ARN"},
		{with("Resource", `"arn:aws:gamelift:*"`), "is not an ARN"},
		{with("Resource", `"arn:aws:gamelift:*:*"`), "is not an ARN"},
		{with("Resource", `"ARN:aws:gamelift:*:*:x"`), "is not an ARN"},
		{with("Resource", `"${aws:PrincipalArn}"`), "is not an ARN"},
		{with("Resource", `"arn:aws:gamelift:${a:b:c:d}"`), "Resource: "},
		{with("Resource", `"arn:aws:gamelift:*:*:x/${aws:username"`), `has no "}"`},
		{with("Resource", `"arn:aws:gamelift:*:*:x/${aws:user}"`), "there is no variable ${aws:user}"},
		{with("Resource", `"arn:aws:gamelift:*:*:x/${}"`), "there is no variable ${}"},
		{with("Resource", `"arn:aws:gamelift:*:*:x/${aws:username, x}"`), "in single quotes"},
		{with("Resource", `"arn:aws:gamelift:*:*:x/${aws:username,'}"`), "in single quotes"},

		{condition(`5`), "Condition: expected an object"},
		{condition(`[]`), "Condition: expected an object"},
		{condition(`{"StringEquals":5}`), "Condition StringEquals: expected an object"},
		{condition(`{"StringEquals":{}}`), "Condition StringEquals: the operator has no keys"},
		{condition(`{"StringEquals":{"aws:username":[]}}`), "StringEquals aws:username: the list is empty"},
		{condition(`{"StringEquals":{"aws:username":null}}`), "not null"},
		{condition(`{"StringEquals":{"aws:username":[{}]}}`), "not an object"},
		{condition(`{"StringEquals":{"aws:username":"a","aws:username":"b"}}`), "is there twice"},
		{condition(`{"StringEquals":{"aws:username":"a"},"StringEquals":{"aws:username":"b"}}`), "is there twice"},
		{condition(`{"StringEqual":{"aws:username":"a"}}`), `there is no operator "StringEqual"`},
		{condition(`{"stringequals":{"aws:username":"a"}}`), `there is no operator`},
		{condition(`{"StringEqualsIfExistsIfExists":{"aws:username":"a"}}`), `there is no operator`},
		{condition(`{"ForAllValues:ForAnyValue:StringEquals":{"aws:username":"a"}}`), `there is no operator`},
		{condition(`{"ForAllValues:Null":{"aws:username":"true"}}`), `there is no operator`},
		{condition(`{"NullIfExists":{"aws:username":"true"}}`), `there is no operator`},
		{condition(`{"BinaryEquals":{"aws:username":"YQ=="}}`), `there is no operator`},
		{condition(`{"StringEquals":{"aws:SourceVpc":"a"}}`), `there is no condition key "aws:SourceVpc"`},
		{condition(`{"StringEquals":{"gamelift:fleet":"a"}}`), `there is no condition key`},
		{condition(`{"StringEquals":{"aws:PrincipalTag":"a"}}`), `there is no condition key`},
		{condition(`{"StringEquals":{"aws:PrincipalTag/":"a"}}`), `there is no condition key`},
		{condition(`{"StringEquals":{"aws:username/x":"a"}}`), `there is no condition key`},
		{condition(`{"StringEquals":{"aws:PrincipalTag/` + strings.Repeat("k", 129) + `":"a"}}`),
			`there is no condition key`},
		{condition(`{"StringEquals":{"sts:ExternalId":"a"}}`), `there is no condition key`},
		{condition(`{"StringEquals":{"accounts.google.com:sub":"a"}}`), `there is no condition key`},
		{condition(`{"StringEquals":{"aws:username":"${aws:foo}"}}`), "there is no variable"},
		{condition(`{"StringLike":{"aws:username":"${aws:username"}}`), `has no "}"`},
		{condition(`{"NumericEquals":{"aws:EpochTime":"five"}}`), `"five" is not a number`},
		{condition(`{"NumericEquals":{"aws:EpochTime":1e3}}`), `"1e3" is not a number`},
		{condition(`{"NumericEquals":{"aws:EpochTime":"1/3"}}`), `is not a number`},
		{condition(`{"NumericEquals":{"aws:EpochTime":"${aws:EpochTime}"}}`), `is not a number`},
		{condition(`{"DateLessThan":{"aws:CurrentTime":"tomorrow"}}`), `"tomorrow" is not a date`},
		{condition(`{"DateLessThan":{"aws:CurrentTime":"2026-13-01"}}`), `is not a date`},
		{condition(`{"DateLessThan":{"aws:CurrentTime":"9999999999999"}}`), `is not a date`},
		{condition(`{"Bool":{"aws:SecureTransport":"yes"}}`), `"yes" is neither true nor false`},
		{condition(`{"Null":{"aws:username":"yes"}}`), `"yes" is neither true nor false`},
		{condition(`{"IpAddress":{"aws:SourceIp":"10.0.0"}}`), `is neither an IP address nor a range`},
		{condition(`{"IpAddress":{"aws:SourceIp":"10.0.0.0/33"}}`), `is neither an IP address nor a range`},
		{condition(`{"IpAddress":{"aws:SourceIp":"fe80::1%eth0"}}`), `is neither an IP address nor a range`},
		{condition(`{"IpAddress":{"aws:SourceIp":"::ffff:0:0/90"}}`), `is neither an IP address nor a range`},
		{condition(`{"IpAddress":{"aws:SourceIp":"*"}}`), `is neither an IP address nor a range`},
		{condition(`{"ArnLike":{"aws:PrincipalArn":"*"}}`), "is not an ARN"},
	} {
		t.Run(tt.statement, func(t *testing.T) {
			text, isWhole := strings.CutPrefix(tt.statement, "!")
			if !isWhole {
				text = document(tt.statement)
			}
			d, err := Parse(text)
			e, ok := errors.AsType[*SyntaxError](err)
			if !ok || d != nil || !strings.Contains(e.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// TestPlace holds the fields of an error.
func TestPlace(t *testing.T) {
	_, err := Parse(document(`{"Effect":"Allow","Action":"*","Resource":"*"},
		{"Sid":"Two","Effect":"Deny","Action":"*","Resource":"*","Condition":{"StringEqual":{}, "Bool":{"x":1}}}`))
	e, ok := errors.AsType[*SyntaxError](err)
	if !ok || e.Statement != 2 || e.Sid != "Two" || e.Element != "Condition StringEqual" ||
		e.Error() != `statement 2 (Sid Two), Condition StringEqual: the operator has no keys` {
		t.Errorf("%+v", err)
	}
}

func TestAccepted(t *testing.T) {
	for _, text := range []string{
		`{"Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}`,
		`{"Id":"x","Version":"2008-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}`,
		`{"Statement":{"Resource":"*","Sid":"","Action":"*","Effect":"Deny","Condition":{}},"Version":"2012-10-17"}`,
		document(`{"Effect":"Allow","Action":"*:*","Resource":"arn:aws:s3:::bucket"}`),
		strings.Repeat(" ", 7000) + document(`{"Effect":"Allow","Action":"*","Resource":"*"}`),
	} {
		d := mustParse(t, text)
		if again := mustParse(t, d.Normalized()); again.Normalized() != d.Normalized() {
			t.Errorf("%s", d.Normalized())
		}
	}
	if got := mustParse(t,
		"{\n \"Statement\" : {\"Effect\":\"Allow\", \"Action\":\"*\",\"Resource\":\"*\"} }").Normalized(); got !=
		`{"Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}` {
		t.Error(got)
	}
}

// TestLenient holds that unknown parts never make a document allow more.
func TestLenient(t *testing.T) {
	const all = `{"Effect":"Allow","Action":"*","Resource":"*"}`
	statement := func(effect, rest string) string { return `{"Effect":"` + effect + `",` + rest + `}` }
	for _, tt := range []struct {
		name, statements string
		ignored          int
		want             string // of DeleteFleet on fleetA
	}{
		{"nothing unknown", all, 0, allowed},
		{"action of another service", statement("Allow", `"Action":["sqs:SendMessage","gamelift:*"],"Resource":"*"`), 1,
			allowed},
		{"only actions of another service", statement("Allow", `"Action":"sqs:*","Resource":"*"`), 1, denied},
		{"NotAction of another service", statement("Allow", `"NotAction":"sqs:*","Resource":"*"`), 1, allowed},
		{"deny NotAction of another service", all + "," + statement("Deny", `"NotAction":"sqs:*","Resource":"*"`), 1,
			explicit},
		{"deny of another service", all + "," + statement("Deny", `"Action":"sqs:*","Resource":"*"`), 1, allowed},
		{"allow with an unknown operator",
			statement("Allow", `"Action":"*","Resource":"*","Condition":{"Binary":{"aws:username":"x"}}`), 1, denied},
		{"allow with an unknown key",
			statement("Allow", `"Action":"*","Resource":"*","Condition":{"StringNotEquals":{"aws:SourceVpc":"x"}}`), 1,
			denied},
		{"allow with an unknown variable", statement("Allow", `"Action":"*","NotResource":"arn:aws:x:::${aws:foo}"`), 1,
			denied},
		{"allow with an unknown element", statement("Allow", `"Action":"*","Resource":"*","Condtion":{}`), 1, denied},
		{"deny with an unknown operator", all + "," + statement("Deny",
			`"Action":"*","Resource":"*","Condition":{"Binary":{"aws:username":"x"}}`), 1, explicit},
		{"deny with an unknown key, and one that fails", all + "," + statement("Deny",
			`"Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:SourceVpc":"x","aws:username":"x"}}`), 1,
			allowed},
		{"deny with an unknown key, and one that holds", all + "," + statement("Deny",
			`"Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:SourceVpc":"x","aws:username":"ada"}}`), 1,
			explicit},
		{"deny with an unknown variable in a condition", all + "," + statement("Deny",
			`"Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:username":["x","${aws:foo}"]}}`), 1,
			explicit},
		{"deny with an unknown variable", all + "," + statement("Deny",
			`"Action":"*","Resource":"arn:aws:gamelift:*:*:fleet/${aws:foo}"`), 1, explicit},
		{"deny NotResource with an unknown variable", all + "," + statement("Deny",
			`"Action":"*","NotResource":"arn:aws:gamelift:*:*:fleet/${aws:foo}"`), 1, explicit},
		{"deny NotResource with an unknown variable and the fleet", all + "," + statement("Deny",
			`"Action":"*","NotResource":["arn:aws:gamelift:*:*:fleet/${aws:foo}","`+fleetA+`"]`), 1, allowed},
		{"deny with an unknown element", all + "," + statement("Deny", `"Action":"*","Resource":"*","Principal":"*"`),
			1,
			explicit},
		{"two", statement("Allow", `"Action":["sqs:*","ec2:*"],"Resource":"*","Condition":{"X":{"a":"b"}}`), 3, denied},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := document(tt.statements)
			d, ignored, err := ParseLenient(text)
			if err != nil || len(ignored) != tt.ignored || d.Normalized() == "" {
				t.Fatal(err, ignored)
			}
			if _, strict := Parse(text); (strict == nil) != (tt.ignored == 0) {
				t.Errorf("Parse: %v", strict)
			}
			r := requestOf(t, &modelRequest{action: "gamelift:DeleteFleet", resource: fleetA,
				keys: keysFrom("aws:username=ada")})
			if got := outcomeOf((Set{{"p", d}}).Evaluate(r)); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
	if _, ignored, err := ParseLenient(`{"Comment":1,"Statement":` + all + `}`); err != nil || !slices.Equal(ignored,
		[]string{"Comment: there is no such element"}) {
		t.Error(ignored, err)
	}
	if _, _, err := ParseLenient(document(`{"Effect":"Allow","Action":"s3","Resource":"*"}`)); err == nil {
		t.Error("wrong syntax was tolerated")
	}
}

func TestActions(t *testing.T) {
	all := Actions()
	if !slices.IsSorted(all) || len(slices.Compact(all)) != len(actionNames) || len(all) > len(actionSet{})*64 {
		t.Errorf("%d actions", len(all))
	}
	if len(all) != 120+57+7+14+5+10 {
		t.Errorf("%d actions: an action came or went; adapt the built-in policies", len(all))
	}
	for i, name := range all {
		for _, spelling := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
			if a, ok := ActionOf(spelling); !ok || int(a) != i || a.String() != name {
				t.Errorf("%s: %v, %v", spelling, a, ok)
			}
		}
	}
	if _, ok := ActionOf("gamelift:Foo"); ok {
		t.Error("gamelift:Foo")
	}
	for name, want := range map[string]bool{
		"gamelift:ListFleets": true, "gamelift:DescribeScript": true, "gamelift:SearchGameSessions": true,
		"gamelift:ResolveAlias": true, "gamelift:ValidateMatchmakingRuleSet": true,
		"gamelift:GetGameSessionLogUrl":       true,
		"gamelift:GetPlayerConnectionDetails": true, "gamelift:GetComputeAuthToken": false,
		"gamelift:GetComputeAccess": false, "gamelift:GetInstanceAccess": false, "gamelift:CreateFleet": false,
		"gamelift:RequestUploadCredentials": false, "gamelift:RegisterCompute": false, "muster:UserRead": true,
		"muster:UserPut": false, "muster:SecretRotate": false, "sts:GetSessionToken": false,
		"sts:GetCallerIdentity": true,
		"sts:AssumeRole":        false, "iam:ListUsers": true, "iam:CreateAccessKey": false,
	} {
		if a, _ := ActionOf(name); a.ReadOnly() != want {
			t.Errorf("%s is read-only: %v", name, !want)
		}
	}
}
