package policy

import (
	"strings"
	"testing"
)

// keysFrom reads the keys of a request: "aws:username=ada; aws:TagKeys=a|b". A key without "=" has no values.
func keysFrom(text string) map[string][]string {
	keys := map[string][]string{}
	for _, part := range strings.Split(text, "; ") {
		if part == "" {
			continue
		}
		key, values, ok := strings.Cut(part, "=")
		keys[key] = nil
		if ok {
			keys[key] = strings.Split(values, "|")
		}
	}
	return keys
}

func requestOf(t testing.TB, r *modelRequest) *Request {
	t.Helper()
	a, ok := ActionOf(r.action)
	if !ok {
		t.Fatalf("no action %s", r.action)
	}
	return &Request{Action: a, Resource: r.resource, Values: r.lookup}
}

func outcomeOf(d Decision) string {
	switch {
	case d.Allowed && !d.Explicit:
		return allowed
	case d.Explicit && !d.Allowed:
		return explicit
	}
	return denied
}

func mustParse(t testing.TB, text string) *Document {
	t.Helper()
	d, err := Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return d
}

// check evaluates documents with the compiled form and with the model.
func check(t *testing.T, want string, r *modelRequest, documents ...string) Decision {
	t.Helper()
	var s Set
	for i, text := range documents {
		s = append(s, Source{"p" + decimal(i+1), mustParse(t, text)})
	}
	got := s.Evaluate(requestOf(t, r))
	if outcomeOf(got) != want {
		t.Errorf("%s, want %s (%+v)", outcomeOf(got), want, got)
	}
	if m := model(r, documents...); m != want {
		t.Errorf("the model: %s, want %s", m, want)
	}
	return got
}

func document(statements string) string {
	return `{"Version":"2012-10-17","Statement":[` + statements + `]}`
}

const (
	acct   = "111122223333"
	fleetA = "arn:aws:gamelift:us-west-2:111122223333:fleet/fleet-a"
	fleetB = "arn:aws:gamelift:us-west-2:111122223333:fleet/fleet-b"
	aliasA = "arn:aws:gamelift:us-west-2::alias/alias-a"
	gsessA = "arn:aws:gamelift:us-west-2::gamesession/fleet-a/custom-x/gsess-1"
	queueA = "arn:aws:gamelift:us-west-2:111122223333:gamesessionqueue/arena"
)

// TestStatements is the table of effects, actions and resources.
func TestStatements(t *testing.T) {
	allow := func(action, resource string) string {
		return `{"Effect":"Allow","Action":"` + action + `","Resource":"` + resource + `"}`
	}
	deny := func(action, resource string) string {
		return strings.Replace(allow(action, resource), "Allow", "Deny", 1)
	}
	const all = `{"Effect":"Allow","Action":"*","Resource":"*"}`
	tests := []struct{ name, statements, action, resource, keys, want string }{
		{"allow all", all, "gamelift:DeleteFleet", fleetA, "", allowed},
		{"allow all without a resource", all, "gamelift:ListFleets", "*", "", allowed},
		{"allow all of muster", all, "muster:RootKeyRotate", "*", "", allowed},
		{"nothing matches", allow("gamelift:ListFleets", "*"), "gamelift:ListBuilds", "*", "", denied},
		{"deny wins", all + "," + deny("gamelift:DeleteFleet", "*"), "gamelift:DeleteFleet", fleetA, "", explicit},
		{"deny wins first", deny("gamelift:DeleteFleet", "*") + "," + all, "gamelift:DeleteFleet", fleetA, "",
			explicit},
		{"deny of another action", all + "," + deny("gamelift:DeleteFleet", "*"), "gamelift:DeleteAlias", aliasA, "",
			allowed},
		{"deny of another resource", all + "," + deny("gamelift:DeleteFleet", fleetB), "gamelift:DeleteFleet", fleetA,
			"",
			allowed},
		{"deny of the resource", all + "," + deny("gamelift:DeleteFleet", fleetA), "gamelift:DeleteFleet", fleetA, "",
			explicit},
		{"deny without an allow", deny("*", "*"), "gamelift:ListFleets", "*", "", explicit},
		{"second allow", allow("gamelift:ListFleets", "*") + "," + allow("gamelift:ListBuilds", "*"),
			"gamelift:ListBuilds", "*", "", allowed},

		{"exact action", allow("gamelift:ListFleets", "*"), "gamelift:ListFleets", "*", "", allowed},
		{"action in lower case", allow("gamelift:listfleets", "*"), "gamelift:ListFleets", "*", "", allowed},
		{"action in upper case", allow("GAMELIFT:LISTFLEETS", "*"), "gamelift:ListFleets", "*", "", allowed},
		{"a prefix is not enough", allow("gamelift:CreatePlayerSession", "*"), "gamelift:CreatePlayerSessions", "*", "",
			denied},
		{"service", allow("gamelift:*", "*"), "gamelift:CreateFleet", "*", "", allowed},
		{"other service", allow("gamelift:*", "*"), "muster:UserRead", "*", "", denied},
		{"muster", allow("muster:*", "*"), "muster:UserRead", "*", "", allowed},
		{"iam", allow("iam:*AccessKey*", "*"), "iam:GetAccessKeyLastUsed", "*", "", allowed},
		{"sts", allow("sts:Assume*", "arn:aws:iam::*:role/build"), "sts:AssumeRole",
			"arn:aws:iam::111122223333:role/build", "", allowed},
		{"sts other role", allow("sts:Assume*", "arn:aws:iam::*:role/build"), "sts:AssumeRole",
			"arn:aws:iam::111122223333:role/builder", "", denied},
		{"star at the end", allow("gamelift:Describe*", "*"), "gamelift:DescribeFleetEvents", "*", "", allowed},
		{"star at the end, another", allow("gamelift:Describe*", "*"), "gamelift:ListFleets", "*", "", denied},
		{"star in the middle", allow("gamelift:*Game*Session", "*"), "gamelift:CreateGameSession", "*", "", allowed},
		{"star in the middle, longer", allow("gamelift:*Game*Session", "*"), "gamelift:SearchGameSessions", "*", "",
			denied},
		{"star at the front", allow("gamelift:*Fleet", "*"), "gamelift:DeleteContainerFleet", "*", "", allowed},
		{"star matches nothing", allow("gamelift:ListFleets*", "*"), "gamelift:ListFleets", "*", "", allowed},
		{"several stars", allow("gamelift:**F**", "*"), "gamelift:ListFleets", "*", "", allowed},
		{"question mark", allow("gamelift:?istFleets", "*"), "gamelift:ListFleets", "*", "", allowed},
		{"question mark is one", allow("gamelift:CreatePlayerSession?", "*"), "gamelift:CreatePlayerSession", "*", "",
			denied},
		{"question mark, one more", allow("gamelift:CreatePlayerSession?", "*"), "gamelift:CreatePlayerSessions", "*",
			"",
			allowed},
		{"wildcard in the service", allow("*:*Read", "*"), "muster:AuditRead", "*", "", allowed},
		{"question mark in the service", allow("???:Get*", "*"), "sts:GetCallerIdentity", "*", "", allowed},
		{"star in the service keeps the name", allow("g*:List*", "*"), "gamelift:ListFleets", "*", "", allowed},
		{"list of actions", `{"Effect":"Allow","Action":["gamelift:ListFleets","muster:*Read"],"Resource":"*"}`,
			"muster:KeyRead", "*", "", allowed},
		{"not in the list", `{"Effect":"Allow","Action":["gamelift:ListFleets","muster:*Read"],"Resource":"*"}`,
			"muster:KeyCreate", "*", "", denied},

		{"NotAction", `{"Effect":"Allow","NotAction":"gamelift:Delete*","Resource":"*"}`, "gamelift:CreateFleet", "*",
			"",
			allowed},
		{"NotAction, exempt", `{"Effect":"Allow","NotAction":"gamelift:Delete*","Resource":"*"}`,
			"gamelift:DeleteFleet",
			fleetA, "", denied},
		{"NotAction is of all services", `{"Effect":"Allow","NotAction":"gamelift:*","Resource":"*"}`, "muster:UserPut",
			"*", "", allowed},
		{"NotAction of all", `{"Effect":"Allow","NotAction":"*","Resource":"*"}`, "muster:UserPut", "*", "", denied},
		{"NotAction with a list", `{"Effect":"Allow","NotAction":["muster:*","iam:*"],"Resource":"*"}`, "iam:GetUser",
			"*",
			"", denied},
		{"NotAction in a deny", all + `,{"Effect":"Deny","NotAction":["gamelift:List*"],"Resource":"*"}`,
			"gamelift:CreateFleet", "*", "", explicit},
		{"NotAction in a deny, exempt", all + `,{"Effect":"Deny","NotAction":["gamelift:List*"],"Resource":"*"}`,
			"gamelift:ListFleets", "*", "", allowed},

		{"the ARN", allow("gamelift:DeleteFleet", fleetA), "gamelift:DeleteFleet", fleetA, "", allowed},
		{"another ARN", allow("gamelift:DeleteFleet", fleetA), "gamelift:DeleteFleet", fleetB, "", denied},
		{"an ARN and no resource", allow("gamelift:*", fleetA), "gamelift:ListFleets", "*", "", denied},
		{"any ARN is not all", allow("gamelift:*", "arn:*:*:*:*:*"), "gamelift:ListFleets", "*", "", denied},
		{"any ARN", allow("gamelift:*", "arn:*:*:*:*:*"), "gamelift:DeleteFleet", fleetA, "", allowed},
		{"a resource that is no ARN", allow("gamelift:*", "arn:*:*:*:*:*"), "gamelift:DeleteFleet", "fleet-a", "",
			denied},
		{"a resource that is no ARN, all", allow("gamelift:*", "*"), "gamelift:DeleteFleet", "fleet-a", "", allowed},
		{"an ARN that is too short", allow("gamelift:*", "arn:*:*:*:*:*"), "gamelift:DeleteFleet",
			"arn:aws:gamelift:x:y",
			"", denied},
		{"resources are case-sensitive", allow("gamelift:*", strings.Replace(fleetA, "fleet-a", "Fleet-a", 1)),
			"gamelift:DeleteFleet", fleetA, "", denied},
		{"partition", allow("gamelift:*", strings.Replace(fleetA, "aws", "aws-cn", 1)), "gamelift:DeleteFleet", fleetA,
			"",
			denied},
		{"partition wildcard", allow("gamelift:*", strings.Replace(fleetA, "aws", "aws*", 1)), "gamelift:DeleteFleet",
			fleetA, "", allowed},
		{"service of the ARN", allow("gamelift:*", strings.Replace(fleetA, "gamelift", "ec2", 1)),
			"gamelift:DeleteFleet",
			fleetA, "", denied},
		{"region", allow("gamelift:*", strings.Replace(fleetA, "us-west-2", "us-east-1", 1)), "gamelift:DeleteFleet",
			fleetA, "", denied},
		{"region wildcard", allow("gamelift:*", strings.Replace(fleetA, "us-west-2", "us-*", 1)),
			"gamelift:DeleteFleet",
			fleetA, "", allowed},
		{"account", allow("gamelift:*", strings.Replace(fleetA, acct, "999999999999", 1)), "gamelift:DeleteFleet",
			fleetA,
			"", denied},
		{"account wildcard", allow("gamelift:*", strings.Replace(fleetA, acct, "1111????3333", 1)),
			"gamelift:DeleteFleet", fleetA, "", allowed},
		{"star stays in its field", allow("gamelift:*", "arn:aws:*:fleet/fleet-a:x:y"), "gamelift:DeleteFleet", fleetA,
			"",
			denied},
		{"question mark is no colon", allow("gamelift:*", "arn:aws:gamelift:us-west-2?111122223333:fleet/fleet-a:*"),
			"gamelift:DeleteFleet", fleetA, "", denied},
		{"kind", allow("gamelift:*", "arn:aws:gamelift:*:*:fleet/*"), "gamelift:DeleteFleet", fleetA, "", allowed},
		{"other kind", allow("gamelift:*", "arn:aws:gamelift:*:*:fleet/*"), "gamelift:DeleteAlias", aliasA, "", denied},
		{"kind wildcard", allow("gamelift:*", "arn:aws:gamelift:*:*:*fleet/*"), "gamelift:DeleteFleet",
			"arn:aws:gamelift:us-west-2:111122223333:containerfleet/containerfleet-1", "", allowed},
		{"the sixth field crosses slashes", allow("gamelift:*", "arn:aws:gamelift:*:*:gamesession/fleet-a/*"),
			"gamelift:TerminateGameSession", gsessA, "", allowed},
		{"the sixth field crosses colons", allow("gamelift:*", "arn:aws:gamelift:*:*:x/*"), "gamelift:TagResource",
			"arn:aws:gamelift:us-west-2:111122223333:x/a:b:c", "", allowed},
		{"sessions of another fleet", allow("gamelift:*", "arn:aws:gamelift:*:*:gamesession/fleet-b/*"),
			"gamelift:TerminateGameSession", gsessA, "", denied},
		{"a session's location", allow("gamelift:*", "arn:aws:gamelift:*:*:gamesession/*/custom-x/*"),
			"gamelift:TerminateGameSession", gsessA, "", allowed},
		{"question mark in the id", allow("gamelift:*", "arn:aws:gamelift:*:*:fleet/fleet-?"), "gamelift:DeleteFleet",
			fleetA, "", allowed},
		{"no account in the request", allow("gamelift:*", "arn:aws:gamelift:us-west-2:111122223333:alias/*"),
			"gamelift:DeleteAlias", aliasA, "", allowed},
		{"no account in the request, any account", allow("gamelift:*", "arn:aws:gamelift:us-west-2:5:alias/*"),
			"gamelift:DeleteAlias", aliasA, "", allowed},
		{"no account in both", allow("gamelift:*", "arn:aws:gamelift:us-west-2::alias/*"), "gamelift:DeleteAlias",
			aliasA,
			"", allowed},
		{"no account in the policy", allow("gamelift:*", "arn:aws:gamelift:us-west-2::fleet/*"), "gamelift:DeleteFleet",
			fleetA, "", denied},
		{"no region in the request", allow("gamelift:*", "arn:aws:gamelift:us-west-2:1:x/*"), "gamelift:TagResource",
			"arn:aws:gamelift:::x/y", "", allowed},
		{"no account, another region", allow("gamelift:*", "arn:aws:gamelift:us-east-1:*:alias/*"),
			"gamelift:DeleteAlias", aliasA, "", denied},
		{"list of resources", `{"Effect":"Allow","Action":"*","Resource":["` + fleetA + `","` + queueA + `"]}`,
			"gamelift:DeleteGameSessionQueue", queueA, "", allowed},
		{"not in the list of resources", `{"Effect":"Allow","Action":"*","Resource":["` + fleetA + `","` + queueA +
			`"]}`,
			"gamelift:DeleteFleet", fleetB, "", denied},
		{"all in a list", `{"Effect":"Allow","Action":"*","Resource":["` + fleetA + `","*"]}`, "gamelift:ListFleets",
			"*",
			"", allowed},
		{"backtracking", allow("gamelift:*", "arn:aws:gamelift:*:*:x/*ab*abc"), "gamelift:TagResource",
			"arn:aws:gamelift:::x/ab-abab-abc", "", allowed},
		{"backtracking fails", allow("gamelift:*", "arn:aws:gamelift:*:*:x/*ab*abc"), "gamelift:TagResource",
			"arn:aws:gamelift:::x/abc", "", denied},
		{"question mark is a character, not a byte", allow("gamelift:*", "arn:aws:gamelift:*:*:x/?"),
			"gamelift:TagResource", "arn:aws:gamelift:::x/é", "", allowed},

		{"NotResource", `{"Effect":"Allow","Action":"gamelift:*","NotResource":"` + fleetA + `"}`,
			"gamelift:DeleteFleet",
			fleetB, "", allowed},
		{"NotResource, exempt", `{"Effect":"Allow","Action":"gamelift:*","NotResource":"` + fleetA + `"}`,
			"gamelift:DeleteFleet", fleetA, "", denied},
		{"NotResource without a resource", `{"Effect":"Allow","Action":"gamelift:*","NotResource":"` + fleetA + `"}`,
			"gamelift:ListFleets", "*", "", allowed},
		{"NotResource of all", `{"Effect":"Allow","Action":"gamelift:*","NotResource":"*"}`, "gamelift:ListFleets", "*",
			"",
			denied},
		{"NotResource in a deny", all + `,{"Effect":"Deny","Action":"*","NotResource":["` + fleetA + `"]}`,
			"gamelift:DeleteFleet", fleetB, "", explicit},
		{"NotResource in a deny, exempt", all + `,{"Effect":"Deny","Action":"*","NotResource":["` + fleetA + `"]}`,
			"gamelift:DeleteFleet", fleetA, "", allowed},

		{"variable", allow("gamelift:*", "arn:aws:gamelift:*:*:fleet/${aws:username}"), "gamelift:DeleteFleet", fleetA,
			"aws:username=fleet-a", allowed},
		{"variable with another value", allow("gamelift:*", "arn:aws:gamelift:*:*:fleet/${aws:username}"),
			"gamelift:DeleteFleet", fleetA, "aws:username=fleet-b", denied},
		{"variable without a value", allow("gamelift:*", "arn:aws:gamelift:*:*:fleet/${aws:username}*"),
			"gamelift:DeleteFleet", fleetA, "", denied},
		{"variable of an empty list", allow("gamelift:*", "arn:aws:gamelift:*:*:fleet/${aws:username}*"),
			"gamelift:DeleteFleet", fleetA, "aws:username", denied},
		{"variable with two values", allow("gamelift:*", "arn:aws:gamelift:*:*:fleet/${aws:TagKeys}"),
			"gamelift:DeleteFleet", fleetA, "aws:TagKeys=fleet-a|fleet-b", denied},
		{"a variable's wildcard is text", allow("gamelift:*", "arn:aws:gamelift:*:*:fleet/${aws:username}"),
			"gamelift:DeleteFleet", fleetA, "aws:username=*", denied},
		{"variable beside wildcards", allow("gamelift:*", "arn:aws:gamelift:*:*:*/${aws:PrincipalTag/team}-*"),
			"gamelift:DeleteFleet", fleetA, "aws:PrincipalTag/team=fleet", allowed},
		{"variable in a field with a colon in its name", allow("gamelift:*",
			"arn:aws:gamelift:${aws:RequestedRegion}:*:fleet/*"), "gamelift:DeleteFleet", fleetA,
			"aws:RequestedRegion=us-west-2", allowed},
		{"variable without a value in a field that matches any", allow("gamelift:*",
			"arn:aws:gamelift:us-west-2:${aws:username}:alias/*"), "gamelift:DeleteAlias", aliasA, "", denied},
		{"a variable's colon does not separate", allow("gamelift:*", "arn:aws:gamelift:${aws:username}:*:*"),
			"gamelift:DeleteFleet", fleetA, "aws:username=us-west-2:111122223333", denied},
		{"variable in any case", allow("gamelift:*", "arn:aws:gamelift:*:*:fleet/${AWS:UserName}"),
			"gamelift:DeleteFleet", fleetA, "aws:username=fleet-a", allowed},
		{"default of a variable", allow("gamelift:*", "arn:aws:gamelift:*:*:fleet/${aws:PrincipalTag/f, 'fleet-a'}"),
			"gamelift:DeleteFleet", fleetA, "", allowed},
		{"default is not needed", allow("gamelift:*", "arn:aws:gamelift:*:*:fleet/${aws:PrincipalTag/f, 'fleet-a'}"),
			"gamelift:DeleteFleet", fleetA, "aws:PrincipalTag/f=fleet-b", denied},
		{"literal star", allow("gamelift:*", "arn:aws:gamelift:*:*:x/${*}"), "gamelift:TagResource",
			"arn:aws:gamelift:::x/*", "", allowed},
		{"literal star is no wildcard", allow("gamelift:*", "arn:aws:gamelift:*:*:x/${*}"), "gamelift:TagResource",
			"arn:aws:gamelift:::x/y", "", denied},
		{"literal question mark", allow("gamelift:*", "arn:aws:gamelift:*:*:x/${?}"), "gamelift:TagResource",
			"arn:aws:gamelift:::x/y", "", denied},
		{"literal dollar", allow("gamelift:*", "arn:aws:gamelift:*:*:x/${$}{a}"), "gamelift:TagResource",
			"arn:aws:gamelift:::x/${a}", "", allowed},
		{"dollar without a brace", allow("gamelift:*", "arn:aws:gamelift:*:*:x/$a"), "gamelift:TagResource",
			"arn:aws:gamelift:::x/$a", "", allowed},
		{"NotResource with a variable without a value", `{"Effect":"Deny","Action":"*",
			"NotResource":"arn:aws:gamelift:*:*:fleet/${aws:username}"},` + all, "gamelift:DeleteFleet", fleetA, "",
			explicit},
		{"deny with a variable", all + "," + deny("*", "arn:aws:gamelift:*:*:fleet/${aws:username}"),
			"gamelift:DeleteFleet", fleetA, "aws:username=fleet-a", explicit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &modelRequest{action: tt.action, resource: tt.resource, keys: keysFrom(tt.keys)}
			check(t, tt.want, r, document(tt.statements))
		})
	}
}

// TestOldVersion has no variables.
func TestOldVersion(t *testing.T) {
	const statement = `"Statement":{"Effect":"Allow","Action":"*","Resource":"arn:aws:gamelift:*:*:x/${aws:username}"}}`
	for _, version := range []string{`{`, `{"Version":"2008-10-17",`} {
		r := &modelRequest{action: "gamelift:TagResource", resource: "arn:aws:gamelift:::x/${aws:username}",
			keys: keysFrom("aws:username=ada")}
		check(t, allowed, r, version+statement)
		r.resource = "arn:aws:gamelift:::x/ada"
		check(t, denied, r, version+statement)
	}
}

// TestConditions is the table of operators: whether a condition holds. Each is evaluated in an Allow and in a Deny.
func TestConditions(t *testing.T) {
	tests := []struct {
		condition, keys string
		want            bool
	}{
		{`{}`, "", true},
		{`{"StringEquals":{"aws:username":"ada"}}`, "aws:username=ada", true},
		{`{"StringEquals":{"aws:username":"ada"}}`, "aws:username=Ada", false},
		{`{"StringEquals":{"aws:username":"ada"}}`, "", false},
		{`{"StringEquals":{"aws:username":"ada"}}`, "aws:username", false},
		{`{"StringEquals":{"AWS:USERNAME":"ada"}}`, "aws:username=ada", true},
		{`{"StringEquals":{"aws:username":["ada","bob"]}}`, "aws:username=bob", true},
		{`{"StringEquals":{"aws:username":["ada","bob"]}}`, "aws:username=eve", false},
		{`{"StringEquals":{"aws:username":"a*"}}`, "aws:username=ada", false},
		{`{"StringEquals":{"aws:username":"a*"}}`, "aws:username=a*", true},
		{`{"StringEquals":{"aws:username":"${*}"}}`, "aws:username=*", true},
		{`{"StringEquals":{"aws:username":""}}`, "aws:username=", true},
		{`{"StringEquals":{"aws:PrincipalTag/team":5}}`, "aws:PrincipalTag/team=5", true},
		{`{"StringEquals":{"aws:PrincipalTag/team":true}}`, "aws:PrincipalTag/team=true", true},
		{`{"StringEquals":{"aws:principaltag/Team":"x"}}`, "aws:PrincipalTag/Team=x", true},
		{`{"StringEquals":{"aws:ResourceTag/team":"${aws:PrincipalTag/team}"}}`,
			"aws:ResourceTag/team=red; aws:PrincipalTag/team=red", true},
		{`{"StringEquals":{"aws:ResourceTag/team":"${aws:PrincipalTag/team}"}}`,
			"aws:ResourceTag/team=red; aws:PrincipalTag/team=blue", false},
		{`{"StringEquals":{"aws:ResourceTag/team":"${aws:PrincipalTag/team}"}}`, "aws:ResourceTag/team=", false},
		{`{"StringEquals":{"aws:ResourceTag/team":["${aws:PrincipalTag/team}","all"]}}`, "aws:ResourceTag/team=all",
			true},
		{`{"StringEquals":{"aws:ResourceTag/team":"${aws:PrincipalTag/team, 'all'}"}}`, "aws:ResourceTag/team=all",
			true},
		{`{"StringEquals":{"aws:ResourceTag/team":"t-${aws:username}-${aws:username}"}}`,
			"aws:ResourceTag/team=t-a-a; aws:username=a", true},
		{`{"StringEquals":{"aws:TagKeys":"a"}}`, "aws:TagKeys=a|b", true},
		{`{"StringEquals":{"aws:TagKeys":"c"}}`, "aws:TagKeys=a|b", false},
		{`{"StringEquals":{"aws:username":"ada","aws:userid":"1"}}`, "aws:username=ada; aws:userid=1", true},
		{`{"StringEquals":{"aws:username":"ada","aws:userid":"1"}}`, "aws:username=ada; aws:userid=2", false},
		{`{"StringEquals":{"aws:username":"ada"},"Bool":{"aws:SecureTransport":"true"}}`,
			"aws:username=ada; aws:SecureTransport=true", true},
		{`{"StringEquals":{"aws:username":"ada"},"Bool":{"aws:SecureTransport":"true"}}`,
			"aws:username=ada; aws:SecureTransport=false", false},

		{`{"StringNotEquals":{"aws:username":"ada"}}`, "aws:username=bob", true},
		{`{"StringNotEquals":{"aws:username":"ada"}}`, "aws:username=ada", false},
		{`{"StringNotEquals":{"aws:username":"ada"}}`, "", true},
		{`{"StringNotEquals":{"aws:username":["ada","bob"]}}`, "aws:username=bob", false},
		{`{"StringNotEquals":{"aws:username":["ada","bob"]}}`, "aws:username=eve", true},
		{`{"StringNotEquals":{"aws:TagKeys":"a"}}`, "aws:TagKeys=a|b", false},
		{`{"StringNotEquals":{"aws:TagKeys":"c"}}`, "aws:TagKeys=a|b", true},
		{`{"StringNotEquals":{"aws:ResourceTag/team":"${aws:PrincipalTag/team}"}}`, "aws:ResourceTag/team=red", true},

		{`{"StringEqualsIgnoreCase":{"aws:username":"ADA"}}`, "aws:username=ada", true},
		{`{"StringEqualsIgnoreCase":{"aws:username":"ADA"}}`, "aws:username=adam", false},
		{`{"StringEqualsIgnoreCase":{"aws:ResourceTag/o":"X-${aws:username}"}}`,
			"aws:ResourceTag/o=x-ada; aws:username=ADA",
			true},
		{`{"StringNotEqualsIgnoreCase":{"aws:username":"ADA"}}`, "aws:username=ada", false},
		{`{"StringNotEqualsIgnoreCase":{"aws:username":"ADA"}}`, "aws:username=bob", true},
		{`{"StringNotEqualsIgnoreCase":{"aws:username":"ADA"}}`, "", true},

		{`{"StringLike":{"aws:username":"a*"}}`, "aws:username=ada", true},
		{`{"StringLike":{"aws:username":"A*"}}`, "aws:username=ada", false},
		{`{"StringLike":{"aws:username":"?d?"}}`, "aws:username=ada", true},
		{`{"StringLike":{"aws:username":"?d"}}`, "aws:username=ada", false},
		{`{"StringLike":{"aws:username":"*"}}`, "aws:username=", true},
		{`{"StringLike":{"aws:username":"?*"}}`, "aws:username=", false},
		{`{"StringLike":{"aws:username":"*"}}`, "", false},
		{`{"StringLike":{"aws:username":"a${*}"}}`, "aws:username=ada", false},
		{`{"StringLike":{"aws:username":"a${*}"}}`, "aws:username=a*", true},
		{`{"StringLike":{"aws:UserAgent":"*Boto3*md/Botocore#1.?*"}}`, "aws:UserAgent=Boto3/1.44 md/Botocore#1.44 x",
			true},
		{`{"StringLike":{"aws:ResourceTag/o":"*/${aws:username}/*"}}`, "aws:ResourceTag/o=a/ada/b; aws:username=ada",
			true},
		{`{"StringLike":{"aws:ResourceTag/o":"*/${aws:username}/*"}}`, "aws:ResourceTag/o=a/bob/b; aws:username=ada",
			false},
		{`{"StringLike":{"aws:ResourceTag/o":"${aws:username}"}}`, "aws:ResourceTag/o=bob; aws:username=*", false},
		{`{"StringNotLike":{"aws:username":"a*"}}`, "aws:username=ada", false},
		{`{"StringNotLike":{"aws:username":["a*","b*"]}}`, "aws:username=eve", true},
		{`{"StringNotLike":{"aws:username":"a*"}}`, "", true},

		{`{"NumericEquals":{"aws:PrincipalTag/n":"5"}}`, "aws:PrincipalTag/n=5", true},
		{`{"NumericEquals":{"aws:PrincipalTag/n":5}}`, "aws:PrincipalTag/n=5.0", true},
		{`{"NumericEquals":{"aws:PrincipalTag/n":"+05.50"}}`, "aws:PrincipalTag/n=5.5", true},
		{`{"NumericEquals":{"aws:PrincipalTag/n":"9007199254740993"}}`, "aws:PrincipalTag/n=9007199254740992", false},
		{`{"NumericEquals":{"aws:PrincipalTag/n":"0.1"}}`, "aws:PrincipalTag/n=0.10000000000000000001", false},
		{`{"NumericEquals":{"aws:PrincipalTag/n":"-0"}}`, "aws:PrincipalTag/n=0", true},
		{`{"NumericEquals":{"aws:PrincipalTag/n":"5"}}`, "aws:PrincipalTag/n=five", false},
		{`{"NumericEquals":{"aws:PrincipalTag/n":"5"}}`, "aws:PrincipalTag/n=5e0", false},
		{`{"NumericEquals":{"aws:PrincipalTag/n":["1","2"]}}`, "aws:PrincipalTag/n=2", true},
		{`{"NumericEquals":{"aws:PrincipalTag/n":"5"}}`, "", false},
		{`{"NumericNotEquals":{"aws:PrincipalTag/n":"5"}}`, "aws:PrincipalTag/n=6", true},
		{`{"NumericNotEquals":{"aws:PrincipalTag/n":"5"}}`, "aws:PrincipalTag/n=5.0", false},
		{`{"NumericNotEquals":{"aws:PrincipalTag/n":"5"}}`, "", true},
		{`{"NumericNotEquals":{"aws:PrincipalTag/n":"5"}}`, "aws:PrincipalTag/n=x", true},
		{`{"NumericLessThan":{"aws:PrincipalTag/n":"5.5"}}`, "aws:PrincipalTag/n=5.4999", true},
		{`{"NumericLessThan":{"aws:PrincipalTag/n":"5.5"}}`, "aws:PrincipalTag/n=5.5", false},
		{`{"NumericLessThan":{"aws:PrincipalTag/n":"10"}}`, "aws:PrincipalTag/n=9", true},
		{`{"NumericLessThan":{"aws:PrincipalTag/n":"-10"}}`, "aws:PrincipalTag/n=-9", false},
		{`{"NumericLessThanEquals":{"aws:PrincipalTag/n":"5"}}`, "aws:PrincipalTag/n=5", true},
		{`{"NumericLessThanEquals":{"aws:PrincipalTag/n":"5"}}`, "aws:PrincipalTag/n=5.01", false},
		{`{"NumericGreaterThan":{"aws:PrincipalTag/n":"5"}}`, "aws:PrincipalTag/n=5.01", true},
		{`{"NumericGreaterThan":{"aws:PrincipalTag/n":"5"}}`, "aws:PrincipalTag/n=5", false},
		{`{"NumericGreaterThanEquals":{"aws:PrincipalTag/n":"5"}}`, "aws:PrincipalTag/n=5", true},
		{`{"NumericGreaterThanEquals":{"aws:PrincipalTag/n":"5"}}`, "aws:PrincipalTag/n=4", false},
		{`{"NumericGreaterThan":{"aws:EpochTime":"1700000000"}}`, "aws:EpochTime=1700000001", true},

		{`{"DateEquals":{"aws:CurrentTime":"2026-01-02T03:04:05Z"}}`, "aws:CurrentTime=2026-01-02T03:04:05Z", true},
		{`{"DateEquals":{"aws:CurrentTime":"2026-01-02T04:04:05+01:00"}}`, "aws:CurrentTime=2026-01-02T03:04:05Z",
			true},
		{`{"DateEquals":{"aws:CurrentTime":"1767323045"}}`, "aws:CurrentTime=2026-01-02T03:04:05Z", true},
		{`{"DateEquals":{"aws:EpochTime":"2026-01-02T03:04:05Z"}}`, "aws:EpochTime=1767323045", true},
		{`{"DateEquals":{"aws:CurrentTime":"2026-01-02"}}`, "aws:CurrentTime=2026-01-02T00:00:00Z", true},
		{`{"DateEquals":{"aws:CurrentTime":"2026-01-02T03:04Z"}}`, "aws:CurrentTime=2026-01-02T03:04:00Z", true},
		{`{"DateEquals":{"aws:CurrentTime":1767323045}}`, "aws:CurrentTime=soon", false},
		{`{"DateNotEquals":{"aws:CurrentTime":"2026-01-02T03:04:05Z"}}`, "aws:CurrentTime=2026-01-02T03:04:05Z", false},
		{`{"DateNotEquals":{"aws:CurrentTime":"2026-01-02T03:04:05Z"}}`, "aws:CurrentTime=2026-01-02T03:04:05.5Z",
			true},
		{`{"DateNotEquals":{"aws:CurrentTime":"2026-01-02T03:04:05Z"}}`, "", true},
		{`{"DateLessThan":{"aws:CurrentTime":"2026-01-02T03:04:05Z"}}`, "aws:CurrentTime=2026-01-02T03:04:04.999Z",
			true},
		{`{"DateLessThan":{"aws:CurrentTime":"2026-01-02T03:04:05Z"}}`, "aws:CurrentTime=2026-01-02T03:04:05Z", false},
		{`{"DateLessThan":{"aws:CurrentTime":"2026-01-02T03:04:05Z"}}`, "", false},
		{`{"DateLessThanEquals":{"aws:CurrentTime":"2026-01-02T03:04:05Z"}}`, "aws:CurrentTime=2026-01-02T03:04:05Z",
			true},
		{`{"DateGreaterThan":{"aws:TokenIssueTime":"2026-01-02T03:04:05Z"}}`, "aws:TokenIssueTime=2026-01-02T03:04:06Z",
			true},
		{`{"DateGreaterThan":{"aws:TokenIssueTime":"2026-01-02T03:04:05Z"}}`, "aws:TokenIssueTime=2025-01-02T03:04:06Z",
			false},
		{`{"DateGreaterThanEquals":{"aws:CurrentTime":"-5"}}`, "aws:CurrentTime=1969-12-31T23:59:55Z", true},
		{`{"DateGreaterThan":{"aws:CurrentTime":"2026-01-01T00:00:00Z"},"DateLessThan":
			{"aws:CurrentTime":"2026-02-01T00:00:00Z"}}`, "aws:CurrentTime=2026-01-15T00:00:00Z", true},
		{`{"DateGreaterThan":{"aws:CurrentTime":"2026-01-01T00:00:00Z"},"DateLessThan":
			{"aws:CurrentTime":"2026-02-01T00:00:00Z"}}`, "aws:CurrentTime=2026-02-15T00:00:00Z", false},

		{`{"Bool":{"aws:SecureTransport":"true"}}`, "aws:SecureTransport=true", true},
		{`{"Bool":{"aws:SecureTransport":true}}`, "aws:SecureTransport=true", true},
		{`{"Bool":{"aws:SecureTransport":"True"}}`, "aws:SecureTransport=TRUE", true},
		{`{"Bool":{"aws:SecureTransport":"false"}}`, "aws:SecureTransport=false", true},
		{`{"Bool":{"aws:SecureTransport":"false"}}`, "aws:SecureTransport=true", false},
		{`{"Bool":{"aws:SecureTransport":"false"}}`, "aws:SecureTransport=no", false},
		{`{"Bool":{"aws:MultiFactorAuthPresent":"false"}}`, "", false},
		{`{"BoolIfExists":{"aws:MultiFactorAuthPresent":"false"}}`, "", true},
		{`{"BoolIfExists":{"aws:MultiFactorAuthPresent":"false"}}`, "aws:MultiFactorAuthPresent=true", false},
		{`{"Bool":{"aws:SecureTransport":["true","false"]}}`, "aws:SecureTransport=false", true},

		{`{"IpAddress":{"aws:SourceIp":"203.0.113.0/24"}}`, "aws:SourceIp=203.0.113.77", true},
		{`{"IpAddress":{"aws:SourceIp":"203.0.113.0/24"}}`, "aws:SourceIp=203.0.114.77", false},
		{`{"IpAddress":{"aws:SourceIp":"203.0.113.9/24"}}`, "aws:SourceIp=203.0.113.77", true},
		{`{"IpAddress":{"aws:SourceIp":"203.0.113.9"}}`, "aws:SourceIp=203.0.113.9", true},
		{`{"IpAddress":{"aws:SourceIp":"203.0.113.9"}}`, "aws:SourceIp=203.0.113.8", false},
		{`{"IpAddress":{"aws:SourceIp":["10.0.0.0/8","192.168.0.0/16"]}}`, "aws:SourceIp=192.168.3.4", true},
		{`{"IpAddress":{"aws:SourceIp":"10.0.0.0/8"}}`, "aws:SourceIp=::ffff:10.1.2.3", true},
		{`{"IpAddress":{"aws:SourceIp":"::ffff:10.0.0.0/104"}}`, "aws:SourceIp=10.1.2.3", true},
		{`{"IpAddress":{"aws:SourceIp":"::ffff:10.0.0.1"}}`, "aws:SourceIp=10.0.0.1", true},
		{`{"IpAddress":{"aws:SourceIp":"2001:db8::/32"}}`, "aws:SourceIp=2001:db8:1::5", true},
		{`{"IpAddress":{"aws:SourceIp":"2001:db8::/32"}}`, "aws:SourceIp=2001:db9::5", false},
		{`{"IpAddress":{"aws:SourceIp":"fe80::/10"}}`, "aws:SourceIp=fe80::1%eth0", true},
		{`{"IpAddress":{"aws:SourceIp":"0.0.0.0/0"}}`, "aws:SourceIp=2001:db9::5", false},
		{`{"IpAddress":{"aws:SourceIp":["0.0.0.0/0","::/0"]}}`, "aws:SourceIp=2001:db9::5", true},
		{`{"IpAddress":{"aws:SourceIp":"10.0.0.0/8"}}`, "aws:SourceIp=unix", false},
		{`{"IpAddress":{"aws:SourceIp":"10.0.0.0/8"}}`, "", false},
		{`{"NotIpAddress":{"aws:SourceIp":"10.0.0.0/8"}}`, "aws:SourceIp=10.1.2.3", false},
		{`{"NotIpAddress":{"aws:SourceIp":"10.0.0.0/8"}}`, "aws:SourceIp=11.1.2.3", true},
		{`{"NotIpAddress":{"aws:SourceIp":["10.0.0.0/8","11.0.0.0/8"]}}`, "aws:SourceIp=11.1.2.3", false},
		{`{"NotIpAddress":{"aws:SourceIp":"10.0.0.0/8"}}`, "", true},

		{`{"ArnEquals":{"aws:PrincipalArn":"arn:aws:iam::111122223333:user/ada"}}`,
			"aws:PrincipalArn=arn:aws:iam::111122223333:user/ada", true},
		{`{"ArnEquals":{"aws:PrincipalArn":"arn:aws:iam::111122223333:user/*"}}`,
			"aws:PrincipalArn=arn:aws:iam::111122223333:user/ada", true},
		{`{"ArnEquals":{"aws:PrincipalArn":"arn:aws:iam::*:user/ada"}}`, "aws:PrincipalArn=arn:aws:iam::1:user/bob",
			false},
		{`{"ArnLike":{"aws:PrincipalArn":"arn:aws:sts::*:assumed-role/*/ada"}}`,
			"aws:PrincipalArn=arn:aws:sts::1:assumed-role/dev/ada", true},
		{`{"ArnLike":{"aws:PrincipalArn":"arn:aws:iam::*:role/dev"}}`, "aws:PrincipalArn=arn:aws:iam::a:b:role/dev",
			false},
		{`{"ArnLike":{"aws:PrincipalArn":"arn:aws:iam:us-west-2:1:role/dev"}}`,
			"aws:PrincipalArn=arn:aws:iam::1:role/dev",
			false},
		{`{"ArnLike":{"aws:PrincipalArn":"arn:aws:iam::1:user/${aws:username}"}}`,
			"aws:PrincipalArn=arn:aws:iam::1:user/ada; aws:username=ada", true},
		{`{"ArnLike":{"aws:PrincipalArn":"arn:*:*:*:*:*"}}`, "aws:PrincipalArn=ada", false},
		{`{"ArnLike":{"aws:PrincipalArn":"arn:*:*:*:*:*"}}`, "", false},
		{`{"ArnNotEquals":{"aws:PrincipalArn":"arn:aws:iam::1:user/ada"}}`, "aws:PrincipalArn=arn:aws:iam::1:user/bob",
			true},
		{`{"ArnNotEquals":{"aws:PrincipalArn":"arn:aws:iam::1:user/ada"}}`, "aws:PrincipalArn=arn:aws:iam::1:user/ada",
			false},
		{`{"ArnNotLike":{"aws:PrincipalArn":"arn:aws:iam::1:user/*"}}`, "aws:PrincipalArn=arn:aws:iam::1:user/ada",
			false},
		{`{"ArnNotLike":{"aws:PrincipalArn":"arn:aws:iam::1:user/*"}}`, "aws:PrincipalArn=arn:aws:iam::1:role/ada",
			true},
		{`{"ArnNotLike":{"aws:PrincipalArn":"arn:aws:iam::1:user/*"}}`, "", true},

		{`{"Null":{"aws:TokenIssueTime":"true"}}`, "", true},
		{`{"Null":{"aws:TokenIssueTime":"true"}}`, "aws:TokenIssueTime=1", false},
		{`{"Null":{"aws:TokenIssueTime":"false"}}`, "aws:TokenIssueTime=1", true},
		{`{"Null":{"aws:TokenIssueTime":false}}`, "", false},
		{`{"Null":{"aws:TokenIssueTime":"true"}}`, "aws:TokenIssueTime", true},
		{`{"Null":{"aws:TokenIssueTime":["true","false"]}}`, "", true},
		{`{"Null":{"aws:username":"false"}}`, "aws:username=", true},

		{`{"StringEqualsIfExists":{"aws:username":"ada"}}`, "", true},
		{`{"StringEqualsIfExists":{"aws:username":"ada"}}`, "aws:username=ada", true},
		{`{"StringEqualsIfExists":{"aws:username":"ada"}}`, "aws:username=bob", false},
		{`{"StringNotEqualsIfExists":{"aws:username":"ada"}}`, "", true},
		{`{"StringNotEqualsIfExists":{"aws:username":"ada"}}`, "aws:username=ada", false},
		{`{"StringLikeIfExists":{"aws:username":"a*"}}`, "aws:username=bob", false},
		{`{"NumericLessThanIfExists":{"aws:PrincipalTag/n":"5"}}`, "", true},
		{`{"DateLessThanIfExists":{"aws:TokenIssueTime":"5"}}`, "", true},
		{`{"IpAddressIfExists":{"aws:SourceIp":"10.0.0.0/8"}}`, "", true},
		{`{"IpAddressIfExists":{"aws:SourceIp":"10.0.0.0/8"}}`, "aws:SourceIp=11.0.0.1", false},
		{`{"ArnLikeIfExists":{"aws:PrincipalArn":"arn:aws:iam::1:user/*"}}`, "", true},

		{`{"ForAllValues:StringEquals":{"aws:TagKeys":["a","b"]}}`, "aws:TagKeys=a|b", true},
		{`{"ForAllValues:StringEquals":{"aws:TagKeys":["a","b"]}}`, "aws:TagKeys=a", true},
		{`{"ForAllValues:StringEquals":{"aws:TagKeys":["a","b"]}}`, "aws:TagKeys=a|c", false},
		{`{"ForAllValues:StringEquals":{"aws:TagKeys":["a","b"]}}`, "", true},
		{`{"ForAllValues:StringEquals":{"aws:TagKeys":["a","b"]}}`, "aws:TagKeys", true},
		{`{"ForAllValues:StringLike":{"aws:TagKeys":"game-*"}}`, "aws:TagKeys=game-a|game-b", true},
		{`{"ForAllValues:StringNotEquals":{"aws:TagKeys":["a","b"]}}`, "aws:TagKeys=c|d", true},
		{`{"ForAllValues:StringNotEquals":{"aws:TagKeys":["a","b"]}}`, "aws:TagKeys=c|a", false},
		{`{"ForAllValues:StringNotEquals":{"aws:TagKeys":["a","b"]}}`, "", true},
		{`{"ForAllValues:StringEqualsIfExists":{"aws:TagKeys":["a","b"]}}`, "aws:TagKeys=c", false},
		{`{"ForAnyValue:StringEquals":{"aws:TagKeys":["a","b"]}}`, "aws:TagKeys=c|b", true},
		{`{"ForAnyValue:StringEquals":{"aws:TagKeys":["a","b"]}}`, "aws:TagKeys=c|d", false},
		{`{"ForAnyValue:StringEquals":{"aws:TagKeys":["a","b"]}}`, "", false},
		{`{"ForAnyValue:StringNotEquals":{"aws:TagKeys":["a","b"]}}`, "aws:TagKeys=a|c", true},
		{`{"ForAnyValue:StringNotEquals":{"aws:TagKeys":["a","b"]}}`, "aws:TagKeys=a|b", false},
		{`{"ForAnyValue:StringNotEquals":{"aws:TagKeys":["a","b"]}}`, "", false},
		{`{"ForAnyValue:StringEqualsIfExists":{"aws:TagKeys":["a","b"]}}`, "", true},
		{`{"ForAnyValue:StringLike":{"aws:TagKeys":"${aws:username}*"}}`, "aws:TagKeys=x|ada-1; aws:username=ada",
			true},
		{`{"ForAnyValue:IpAddress":{"aws:SourceIp":"10.0.0.0/8"}}`, "aws:SourceIp=11.0.0.1|10.0.0.1", true},
		{`{"ForAllValues:NumericLessThan":{"aws:PrincipalTag/n":"5"}}`, "aws:PrincipalTag/n=1|7", false},
		{`{"ForAnyValue:Bool":{"aws:SecureTransport":"true"}}`, "aws:SecureTransport=false|true", true},
	}
	r := &modelRequest{action: "gamelift:DeleteFleet", resource: fleetA}
	for _, tt := range tests {
		t.Run(tt.condition+" "+tt.keys, func(t *testing.T) {
			r.keys = keysFrom(tt.keys)
			statement := func(effect string) string {
				return `{"Effect":"` + effect + `","Action":"*","Resource":"*","Condition":` + tt.condition + `}`
			}
			want, wantDeny := denied, allowed
			if tt.want {
				want, wantDeny = allowed, explicit
			}
			check(t, want, r, document(statement("Allow")))
			check(t, wantDeny, r, document(statement("Deny")),
				document(`{"Effect":"Allow","Action":"*","Resource":"*"}`))
		})
	}
}

// TestDecision names the policy and the statement.
func TestDecision(t *testing.T) {
	allowAll := document(`{"Effect":"Allow","Action":"gamelift:*","Resource":"*"}`)
	onFleet := document(`{"Sid":"OnFleet","Effect":"Allow","Action":"gamelift:*","Resource":"` + fleetA + `"}`)
	second := document(`{"Effect":"Allow","Action":"muster:*","Resource":"*"},` +
		`{"Effect":"Allow","Action":"gamelift:DeleteFleet","Resource":"` + fleetA + `"}`)
	deny := document(`{"Sid":"No","Effect":"Deny","Action":"gamelift:Delete*","Resource":"*"}`)
	maybe := document(`{"Sid":"Maybe","Effect":"Deny","Action":"gamelift:*","Resource":"` + fleetA + `"}`)
	for _, tt := range []struct {
		name      string
		documents []string
		want      Decision
	}{
		{"none", nil, Decision{}},
		{"other", []string{document(`{"Effect":"Allow","Action":"muster:*","Resource":"*"}`)}, Decision{}},
		{"sid", []string{onFleet}, Decision{true, false, "p1", "OnFleet"}},
		{"number", []string{second}, Decision{true, false, "p1", "statement 2"}},
		{"first", []string{second, onFleet}, Decision{true, false, "p1", "statement 2"}},
		{"unconditional", []string{second, onFleet, allowAll}, Decision{true, false, "p3", "statement 1"}},
		{"deny", []string{allowAll, deny}, Decision{false, true, "p2", "No"}},
		{"first deny", []string{maybe, allowAll}, Decision{false, true, "p1", "Maybe"}},
		{"unconditional deny", []string{maybe, allowAll, deny}, Decision{false, true, "p3", "No"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &modelRequest{action: "gamelift:DeleteFleet", resource: fleetA}
			if got := check(t, outcomeOf(tt.want), r, tt.documents...); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestAlways holds what may be memoized.
func TestAlways(t *testing.T) {
	allowAll := document(`{"Effect":"Allow","Action":"gamelift:*","Resource":"*"}`)
	onFleet := document(`{"Effect":"Allow","Action":"gamelift:*","Resource":"` + fleetA + `"}`)
	denyFleet := document(`{"Effect":"Deny","Action":"gamelift:Delete*","Resource":"` + fleetA + `"}`)
	denyAll := document(`{"Effect":"Deny","Action":"gamelift:Delete*","Resource":["` + fleetA + `","*"]}`)
	conditional := document(`{"Effect":"Allow","Action":"gamelift:*","Resource":"*",
		"Condition":{"Bool":{"aws:SecureTransport":"true"}}}`)
	for _, tt := range []struct {
		name      string
		documents []string
		action    string
		want      string // "" if it depends
	}{
		{"none", nil, "gamelift:DeleteFleet", denied},
		{"another service", []string{allowAll}, "muster:UserPut", denied},
		{"all", []string{allowAll}, "gamelift:DeleteFleet", allowed},
		{"one fleet", []string{onFleet}, "gamelift:DeleteFleet", ""},
		{"one fleet, another service", []string{onFleet}, "muster:UserPut", denied},
		{"one fleet and all", []string{onFleet, allowAll}, "gamelift:DeleteFleet", allowed},
		{"condition", []string{conditional}, "gamelift:DeleteFleet", ""},
		{"deny of one", []string{allowAll, denyFleet}, "gamelift:DeleteFleet", ""},
		{"deny of one, another action", []string{allowAll, denyFleet}, "gamelift:ListFleets", allowed},
		{"deny of all", []string{denyFleet, allowAll, denyAll}, "gamelift:DeleteFleet", explicit},
		{"only a deny of one", []string{denyFleet}, "gamelift:DeleteFleet", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s Set
			for _, text := range tt.documents {
				s = append(s, Source{"p", mustParse(t, text)})
			}
			a, _ := ActionOf(tt.action)
			d, ok := s.Always(a)
			if ok != (tt.want != "") || ok && outcomeOf(d) != tt.want {
				t.Errorf("%+v, %v, want %q", d, ok, tt.want)
			}
		})
	}
}

func TestEvaluateAllocatesNothing(t *testing.T) {
	s, r := benchmarkSet(t)
	if n := testing.AllocsPerRun(100, func() { s.Evaluate(r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// benchmarkSet is the policies of a backend that is limited to a fleet, and its commonest request.
func benchmarkSet(t testing.TB) (Set, *Request) {
	var s Set
	for _, name := range []string{"GameLiftReadOnly", "GameLiftFleetHost"} {
		text, _ := Builtin(name)
		s = append(s, Source{name, mustParse(t, text)})
	}
	s = append(s, Source{"own", mustParse(t, document(`
		{"Effect":"Deny","Action":"gamelift:*","Resource":"arn:aws:gamelift:*:*:gamesession/fleet-prod*/*"},
		{"Effect":"Allow","Action":"gamelift:CreatePlayerSession*","Resource":[
			"arn:aws:gamelift:us-west-2:111122223333:fleet/fleet-a","arn:aws:gamelift:*:*:gamesession/fleet-a/*"]}`))})
	return s, requestOf(t, &modelRequest{action: "gamelift:CreatePlayerSession", resource: gsessA})
}

func BenchmarkEvaluate(b *testing.B) {
	s, r := benchmarkSet(b)
	if !s.Evaluate(r).Allowed {
		b.Fatal("denied")
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Evaluate(r)
	}
}

func BenchmarkAlways(b *testing.B) {
	s, r := benchmarkSet(b)
	b.ReportAllocs()
	for b.Loop() {
		s.Always(r.Action)
	}
}
