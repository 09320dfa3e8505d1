package signin

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// TestWebIdentity: a token of a machine gives keys of a role that trusts it, and each wrong one has its code.
func TestWebIdentity(t *testing.T) {
	t.Parallel()
	w := start(t)
	idp, other := newIssuer(t), newIssuer(t)
	w.Manage("PUT", "providers/ci", object{"issuer": idp.URL, "audiences": []string{"muster"}})
	w.Manage("PUT", "roles/ci", object{"policies": []string{"GameLiftReadOnly"}, "trust": idp.trust("ada")})
	anonymous := sts.NewFromConfig(w.awsConfig(aws.Credentials{}))
	assume := func(token string) (*sts.AssumeRoleWithWebIdentityOutput, error) {
		return anonymous.AssumeRoleWithWebIdentity(t.Context(), &sts.AssumeRoleWithWebIdentityInput{
			RoleArn: new("arn:aws:iam::" + account + ":role/ci"), RoleSessionName: new("build-7"),
			WebIdentityToken: &token})
	}
	out, err := assume(idp.sign(nil))
	if err != nil {
		t.Fatal(err)
	}
	if *out.SubjectFromWebIdentityToken != "ada" || *out.Audience != "muster" ||
		!strings.HasSuffix(*out.AssumedRoleUser.Arn, ":assumed-role/ci/build-7") {
		t.Errorf("the answer is %+v, %s", out, *out.AssumedRoleUser.Arn)
	}
	keys := aws.Credentials{AccessKeyID: *out.Credentials.AccessKeyId,
		SecretAccessKey: *out.Credentials.SecretAccessKey, SessionToken: *out.Credentials.SessionToken}
	if _, err := w.gamelift(keys).ListFleets(t.Context(), &gamelift.ListFleetsInput{}); err != nil {
		t.Error(err)
	}

	parts := strings.Split(idp.sign(nil), ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
	past := time.Now().Add(-time.Hour).Unix()
	for name, c := range map[string]struct {
		token  string
		code   string
		status int
	}{
		"wrong audience":  {idp.sign(object{"aud": "another"}), "InvalidIdentityToken", 400},
		"unknown issuer":  {other.sign(nil), "InvalidIdentityToken", 400},
		"wrong signature": {idp.signBy(newKey(t), nil), "InvalidIdentityToken", 400},
		"alg none":        {none, "InvalidIdentityToken", 400},
		"no token":        {"nothing of this kind", "InvalidIdentityToken", 400},
		"expired":         {idp.sign(object{"exp": past}), "ExpiredTokenException", 400},
		"another subject": {idp.sign(object{"sub": "eve"}), "AccessDenied", 403},
	} {
		_, err := assume(c.token)
		if status, _ := statusOf(err); codeOf(err) != c.code || status != c.status {
			t.Errorf("%s: status %d, %v; want %d, %s", name, status, err, c.status, c.code)
		}
	}
	who, _ := w.audited("AssumeRoleWithWebIdentity")["userIdentity"].(object)
	if who["principalId"] != idp.URL+":muster:ada" {
		t.Errorf("the audit trail has %v", who)
	}
}

// TestPublicIssuers: a role cannot trust everybody at a public issuer.
func TestPublicIssuers(t *testing.T) {
	t.Parallel()
	w := start(t)
	const github = "token.actions.githubusercontent.com"
	put := func(condition object) answer {
		return w.v1(w.Root, "PUT", "roles/github", object{"trust": object{"Version": "2012-10-17", "Statement": object{
			"Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity", "Principal": object{"Federated": github},
			"Condition": condition}}})
	}
	for _, wrong := range []object{{}, {"StringEquals": object{github + ":aud": "sts.amazonaws.com"}},
		{"StringLike": object{github + ":sub": "*"}}, {"StringLike": object{github + ":sub": "repo:a*"}}} {
		if a := put(wrong); a.status != 400 || !strings.Contains(string(a.body), "MalformedPolicyDocument") {
			t.Errorf("%v: %d %s", wrong, a.status, a.body)
		}
	}
	if a := put(object{"StringLike": object{github + ":sub": "repo:studio/game:*"}}); a.status != 200 {
		t.Errorf("with a subject: %d %s", a.status, a.body)
	}
}

// externalSignIn signs the issuer's person in.
func (w *world) externalSignIn(idp *issuer, provider string) (*browser, page) {
	w.Helper()
	b := w.browser()
	b.get("/signin/in").has(200, "/signin/oidc/"+provider)
	atProvider := b.get("/signin/oidc/" + provider + "?return=%2Fstart")
	if atProvider.at.Host != idp.name() {
		w.Fatalf("not sent to the provider: %s", atProvider.at)
	}
	answer, err := b.Get(atProvider.at.String())
	if err != nil {
		w.Fatal(err)
	}
	answer.Body.Close()
	return b, b.get(answer.Header.Get("Location"))
}
