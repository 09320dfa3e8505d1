package policy

import (
	"slices"
	"strings"
	"testing"
)

const (
	github   = "token.actions.githubusercontent.com"
	provider = "arn:aws:iam::111122223333:oidc-provider/" + github
	root     = "arn:aws:iam::111122223333:root"
	ada      = "arn:aws:iam::111122223333:user/ada"
)

func TestTrusts(t *testing.T) {
	allow := func(principal, action, rest string) string {
		return `{"Effect":"Allow","Principal":` + principal + `,"Action":"` + action + `"` + rest + `}`
	}
	deny := func(principal, action, rest string) string {
		return strings.Replace(allow(principal, action, rest), "Allow", "Deny", 1)
	}
	const assume, web = "sts:AssumeRole", "sts:AssumeRoleWithWebIdentity"
	human := []string{ada, root, acct}
	role := []string{"arn:aws:sts::111122223333:assumed-role/dev/ada", "arn:aws:iam::111122223333:role/dev", root, acct}
	token := []string{"accounts.google.com", "arn:aws:iam::111122223333:oidc-provider/accounts.google.com"}
	for _, tt := range []struct {
		name, statements, action string
		principals               []string
		keys                     string
		want                     string
	}{
		{"user", allow(`{"AWS":"`+ada+`"}`, assume, ""), assume, human, "", allowed},
		{"another user", allow(`{"AWS":"`+ada+`x"}`, assume, ""), assume, human, "", denied},
		{"list", allow(`{"AWS":["999999999999","`+ada+`"]}`, assume, ""), assume, human, "", allowed},
		{"account", allow(`{"AWS":"111122223333"}`, assume, ""), assume, human, "", allowed},
		{"another account", allow(`{"AWS":"999999999999"}`, assume, ""), assume, human, "", denied},
		{"root", allow(`{"AWS":"`+root+`"}`, assume, ""), assume, human, "", allowed},
		{"role", allow(`{"AWS":"arn:aws:iam::111122223333:role/dev"}`, assume, ""), assume, role, "", allowed},
		{"role session", allow(`{"AWS":"arn:aws:sts::111122223333:assumed-role/dev/ada"}`, assume, ""), assume, role,
			"",
			allowed},
		{"any", allow(`{"AWS":"*"}`, assume, ""), assume, human, "", allowed},
		{"everyone", allow(`"*"`, assume, ""), assume, human, "", allowed},
		{"everyone is no web identity", allow(`"*"`, web, ""), web, token, "", denied},
		{"any is no web identity", allow(`{"AWS":"*"}`, web, ""), web, token, "", denied},
		{"deny everyone", allow(`{"Federated":"accounts.google.com"}`, web, "") + "," + deny(`"*"`, web, ""), web,
			token, "",
			explicit},
		{"deny any is no web identity", allow(`{"Federated":"accounts.google.com"}`, web, "") + "," +
			deny(`{"AWS":"*"}`, web, ""), web, token, "", allowed},
		{"deny the user", allow(`"*"`, "sts:*", "") + "," + deny(`{"AWS":"`+ada+`"}`, "sts:*", ""), assume, human, "",
			explicit},
		{"another action", allow(`"*"`, "sts:TagSession", ""), assume, human, "", denied},
		{"tags", allow(`"*"`, "sts:TagSession", ""), "sts:TagSession", human, "", allowed},
		{"all actions", allow(`"*"`, "*", ""), "sts:SetSourceIdentity", human, "", allowed},
		{"external id", allow(`"*"`, assume, `,"Condition":{"StringEquals":{"sts:ExternalId":"x"}}`), assume, human,
			"sts:ExternalId=x", allowed},
		{"no external id", allow(`"*"`, assume, `,"Condition":{"StringEquals":{"sts:ExternalId":"x"}}`), assume, human,
			"", denied},
		{"session name", allow(`"*"`, assume, `,"Condition":{"StringLike":{"sts:RoleSessionName":"${aws:username}"}}`),
			assume, human, "sts:RoleSessionName=ada; aws:username=ada", allowed},
		{"MFA", allow(`"*"`, assume, `,"Condition":{"Bool":{"aws:MultiFactorAuthPresent":true}}`), assume, human, "",
			denied},
		{"web identity", allow(`{"Federated":"accounts.google.com"}`, web,
			`,"Condition":{"StringEquals":{"accounts.google.com:sub":"1","Accounts.Google.com:AUD":"app"}}`), web,
			token,
			"accounts.google.com:sub=1; accounts.google.com:aud=app", allowed},
		{"another subject", allow(`{"Federated":"accounts.google.com"}`, web,
			`,"Condition":{"StringEquals":{"accounts.google.com:sub":"1"}}`), web, token, "accounts.google.com:sub=2",
			denied},
		{"the provider's ARN", allow(`{"Federated":"arn:aws:iam::111122223333:oidc-provider/accounts.google.com"}`, web,
			""),
			web, token, "", allowed},
		{"another provider", allow(`{"Federated":"login.example.com"}`, web, ""), web, token, "", denied},
		{"both kinds", allow(`{"AWS":"`+ada+`","Federated":"login.example.com"}`, "sts:*", ""), assume, human, "",
			allowed},
		{"a user with a provider's name", allow(`{"Federated":"accounts.google.com"}`, "sts:*", ""), assume,
			[]string{"accounts.google.com"}, "", denied},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := document(tt.statements)
			d, err := ParseTrust(text)
			if err != nil {
				t.Fatal(err)
			}
			r := &modelRequest{action: tt.action, resource: "*", keys: keysFrom(tt.keys), principals: tt.principals,
				federated: slices.Equal(tt.principals, token) || tt.action == web}
			a, _ := ActionOf(tt.action)
			got := d.Trusts(&TrustRequest{Action: a, Principals: r.principals, Federated: r.federated,
				Values: r.lookup})
			if outcomeOf(got) != tt.want || (got.Statement == "") != (tt.want == denied) || got.Policy != "" {
				t.Errorf("%+v, want %s", got, tt.want)
			}
			if m := model(r, text); m != tt.want {
				t.Errorf("the model: %s, want %s", m, tt.want)
			}
		})
	}
}

// TestTrustsService: a service may assume the roles that name it.
func TestTrustsService(t *testing.T) {
	statement := func(effect, principal string) string {
		return `{"Effect":"` + effect + `","Principal":` + principal + `,"Action":"sts:AssumeRole"}`
	}
	const service = `{"Service":"gamelift.amazonaws.com"}`
	a, _ := ActionOf("sts:AssumeRole")
	for statements, want := range map[string]string{
		statement("Allow", service): allowed,
		statement("Allow", `{"AWS":"`+ada+`","Service":["gamelift.amazonaws.com"]}`): allowed,
		statement("Allow", `"*"`):                                            denied,
		statement("Allow", `{"AWS":"*"}`):                                    denied,
		statement("Allow", service) + "," + statement("Deny", `"*"`):         explicit,
		statement("Allow", service) + "," + statement("Deny", service):       explicit,
		statement("Allow", service) + "," + statement("Deny", `{"AWS":"*"}`): allowed,
	} {
		d, err := ParseTrust(document(statements))
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Trusts(&TrustRequest{Action: a, Principals: []string{GameLift}, Service: true}); outcomeOf(got) !=
			want {
			t.Errorf("%s: %+v, want %s", statements, got, want)
		}
	}
	d, err := ParseTrust(document(statement("Allow", service)))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*TrustRequest{{Principals: []string{GameLift}},
		{Principals: []string{GameLift}, Federated: true}, {Principals: []string{"ec2.amazonaws.com"}, Service: true}} {
		if r.Action = a; d.Trusts(r).Allowed {
			t.Errorf("%+v is trusted", r)
		}
	}
}

// TestIdentityPolicyTrustsNobody holds that a document of the other kind lets nobody in.
func TestIdentityPolicyTrustsNobody(t *testing.T) {
	d := mustParse(t, document(`{"Effect":"Allow","Action":"*","Resource":"*"}`))
	a, _ := ActionOf("sts:AssumeRole")
	if got := d.Trusts(&TrustRequest{Action: a, Principals: []string{ada}}); got.Allowed {
		t.Errorf("%+v", got)
	}
	if issuers := d.TrustedIssuers(); issuers != nil {
		t.Error(issuers)
	}
}

func TestTrustRefused(t *testing.T) {
	for _, tt := range []struct{ statement, want string }{
		{`"Action":"sts:AssumeRole"`, "Principal: the element is missing"},
		{`"Action":"sts:AssumeRole","Principal":null`, "Principal: the element is missing"},
		{`"Action":"sts:AssumeRole","Principal":"ada"`, "Principal: expected an object"},
		{`"Action":"sts:AssumeRole","Principal":{}`, "the object is empty"},
		{`"Action":"sts:AssumeRole","Principal":{"AWS":[]}`, "the list is empty"},
		{`"Action":"sts:AssumeRole","Principal":{"AWS":5}`, "expected a string"},
		{`"Action":"sts:AssumeRole","Principal":{"AWS":"*","AWS":"*"}`, "is there twice"},
		{`"Action":"sts:AssumeRole","Principal":{"Service":"ec2.amazonaws.com"}`, "no service of this region"},
		{`"Action":"sts:AssumeRole","Principal":{"Service":"*"}`, "no service of this region"},
		{`"Action":"sts:AssumeRole","Principal":{"CanonicalUser":"x"}`, "there is no such kind of principal"},
		{`"Action":"sts:AssumeRole","Principal":{"AWS":"ada"}`, "neither"},
		{`"Action":"sts:AssumeRole","Principal":{"AWS":"11112222333x"}`, "neither"},
		{`"Action":"sts:AssumeRole","Principal":{"AWS":"arn:aws:iam::1:user/*"}`, "wildcards match nothing"},
		{`"Action":"sts:AssumeRole","Principal":{"AWS":"arn:aws:s3:::x"}`, "neither"},
		{`"Action":"sts:AssumeRole","Principal":{"Federated":"*"}`, "web identity provider"},
		{`"Action":"sts:AssumeRole","Principal":{"Federated":"https://accounts.google.com"}`, "without https://"},
		{`"Action":"sts:AssumeRole","Principal":{"Federated":"arn:aws:iam::1:saml-provider/x"}`,
			"web identity provider"},
		{`"Action":"sts:AssumeRole","Principal":{"Federated":"arn:aws:x"}`, "web identity provider"},
		{`"Action":"sts:AssumeRole","Principal":"*","Resource":"*"`, "no such element in a trust policy"},
		{`"Action":"sts:AssumeRole","NotPrincipal":"*"`, "no such element in a trust policy"},
		{`"Action":"sts:GetCallerIdentity","Principal":"*"`, "is no action of a trust policy"},
		{`"Action":"gamelift:*","Principal":"*"`, "is no action of a trust policy"},
		{`"Action":"sts:AssumeRole","Principal":"*","Condition":{"StringEquals":{"x:sub":"a"}}`, "no condition key"},
		{`"Action":"sts:AssumeRole","Principal":"*","Condition":{"StringEquals":{"x":"a"}}`, "no condition key"},
		{`"Action":"sts:AssumeRole","Principal":{"Federated":"x"},"Condition":{"StringEquals":{"y:sub":"a"}}`,
			`no condition key "y:sub"`},
		{`"Action":"sts:AssumeRole","Principal":{"Federated":"x"},"Condition":{"StringEquals":{"x:email":"a"}}`,
			`no condition key "x:email"`},
	} {
		if _, err := ParseTrust(document(`{"Effect":"Allow",` + tt.statement + `}`)); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.statement, err, tt.want)
		}
	}
}

// TestCheckIssuers holds which trust policies of public issuers name whom they trust.
func TestCheckIssuers(t *testing.T) {
	statement := func(name, condition string) string {
		return `{"Effect":"Allow","Principal":{"Federated":"` + name + `"},"Action":"sts:AssumeRoleWithWebIdentity",` +
			`"Condition":` + condition + `}`
	}
	on := func(operator, value string) string {
		return `{"` + operator + `":{"` + github + `:sub":` + value + `}}`
	}
	for _, tt := range []struct {
		statements string
		ok         bool
	}{
		{statement(provider, `{}`), false},
		{statement(github, `{}`), false},
		{statement("Token.Actions.githubusercontent.com", `{}`), false},
		{statement("accounts.google.com", `{"StringEquals":{"accounts.google.com:aud":"x"}}`), false},
		{statement("accounts.google.com", `{"StringEquals":{"accounts.google.com:sub":"1234"}}`), true},
		{statement("gitlab.com", `{"StringLike":{"gitlab.com:sub":"project_path:studio/*"}}`), true},
		{statement("gitlab.com", `{"StringLike":{"gitlab.com:sub":"project_path:*"}}`), false},
		{statement("login.example.com/realms/x", `{}`), true},
		{statement("public.example.com", `{}`), false},
		{statement("public.example.com", `{"StringLike":{"public.example.com:sub":"me"}}`), true},
		{statement(provider, on("StringEquals", `"repo:studio/game:ref:refs/heads/main"`)), true},
		{statement(provider, on("StringEqualsIgnoreCase", `"repo:studio/game:ref:refs/heads/main"`)), true},
		{statement(provider, on("StringLike", `["repo:studio/*","repo:other/game:*"]`)), true},
		{statement(provider, on("StringLike", `["repo:studio/*","*"]`)), false},
		{statement(provider, on("StringLike", `"*"`)), false},
		{statement(provider, on("StringLike", `"**"`)), false},
		{statement(provider, on("StringLike", `"?*"`)), false},
		{statement(provider, on("StringLike", `"repo:*"`)), false},
		{statement(provider, on("StringLike", `"repo:?*/*"`)), false},
		{statement(provider, on("StringLike", `"*:ref:refs/heads/main"`)), false},
		{statement(provider, on("StringLike", `"repo:a*"`)), false},
		{statement(provider, on("StringLike", `"repo:studio*/game:*"`)), false},
		{statement(provider, on("StringLike", `"repo:studi?/game:*"`)), false},
		{statement(provider, on("StringLike", `"repo:/*"`)), false},
		{statement(provider, on("StringLike", `"repo:${aws:username}/game:*"`)), false},
		{statement(provider, on("StringLike", `"REPO:studio/*"`)), false},
		{statement(provider, on("StringLike", `"environment:prod/*"`)), false},
		{statement(provider, on("StringEqualsIgnoreCase", `"repo:a*"`)), false},
		{statement(provider, on("StringLike", `"repo:studio/g*"`)), true},
		{statement(provider, on("StringLike", `"repository_owner:studio:*"`)), true},
		{statement(provider, on("StringLike", `"job_workflow_ref:studio/ci/.github/workflows/*"`)), true},
		{statement(provider, `{"StringLike":{"`+github+`:sub":"repo:*"},"StringEquals":{"`+github+
			`:sub":"repo:studio/game:ref:refs/heads/main"}}`), true},
		{statement("gitlab.com", `{"StringLike":{"gitlab.com:sub":"project_path:stu*"}}`), false},
		{statement("app.terraform.io", `{"StringLike":{"app.terraform.io:sub":"organization:stu*"}}`), false},
		{statement("app.terraform.io", `{"StringLike":{"app.terraform.io:sub":"organization:studio:*"}}`), true},
		{statement("agent.buildkite.com", `{"StringLike":{"agent.buildkite.com:sub":"organization:*:pipeline:x"}}`),
			false},
		{statement("accounts.google.com", `{"StringLike":{"accounts.google.com:sub":"12*"}}`), false},
		{statement("public.example.com", `{"StringLike":{"public.example.com:sub":"kind:*"}}`), false},
		{statement("public.example.com", `{"StringLike":{"public.example.com:sub":"kind:me/*"}}`), true},
		{statement(provider, on("StringLike", `"${aws:username}"`)), false},
		{statement(provider, on("StringEquals", `""`)), false},
		{statement(provider, on("StringLikeIfExists", `"repo:studio/*"`)), false},
		{statement(provider, on("ForAllValues:StringLike", `"repo:studio/*"`)), false},
		{statement(provider, on("ForAnyValue:StringLike", `"repo:studio/*"`)), true},
		{statement(provider, on("StringNotLike", `"repo:studio/*"`)), false},
		{statement(provider, on("Null", `"false"`)), false},
		{statement(provider, on("StringLike", `"repo:studio/*"`)) + "," + statement("accounts.google.com", `{}`),
			false},
		{`{"Effect":"Deny","Principal":{"Federated":"` + github + `"},"Action":"sts:*"}`, true},
		{`{"Effect":"Allow","Principal":{"Federated":"` + github + `"},"Action":"sts:*"}`, false},
		{`{"Effect":"Allow","Principal":{"Federated":"` + github + `"},"Action":"sts:TagSession"}`, true},
		{`{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sts:*"}`, true},
	} {
		d, err := ParseTrust(document(tt.statements))
		if err != nil {
			t.Fatal(tt.statements, err)
		}
		err = d.CheckIssuers(func(issuer string) bool { return issuer == "public.example.com" })
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.statements, err)
		}
		if tt.ok && d.CheckIssuers(nil) != nil {
			t.Errorf("%s: %v", tt.statements, err)
		}
	}
}

func TestTrustedIssuers(t *testing.T) {
	d, err := ParseTrust(document(`{"Effect":"Allow","Principal":{"Federated":["` + provider +
		`","a.example.com:8443/x"]},
		"Action":"sts:*"},{"Effect":"Deny","Principal":{"Federated":"` + github + `"},"Action":"sts:*"},
		{"Effect":"Allow","Principal":"*","Action":"sts:AssumeRole"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := d.TrustedIssuers(); !slices.Equal(got, []string{"a.example.com:8443/x", github}) {
		t.Error(got)
	}
}

// TestBroadSubject holds that the error names the condition, its value and a value that is accepted.
func TestBroadSubject(t *testing.T) {
	for _, tt := range []struct{ issuer, value, want string }{
		{github, "repo:a*", `statement 1, Condition ` + github + `:sub: the value "repo:a*" matches tokens of more ` +
			`than one owner at the public issuer ` + github + `: use one that names the complete owner before any ` +
			`wildcard, such as "repo:OWNER/*"`},
		{"accounts.google.com", "1*", "use one that has no wildcard"},
	} {
		d, err := ParseTrust(document(`{"Effect":"Allow","Principal":{"Federated":"` + tt.issuer +
			`"},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{"StringLike":{"` + tt.issuer + `:sub":"` +
			tt.value + `"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.CheckIssuers(nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}
