package query

import (
	"reflect"
	"strings"
	"testing"
)

const (
	sts          = ` xmlns="https://sts.amazonaws.com/doc/2011-06-15/">`
	iam          = ` xmlns="https://iam.amazonaws.com/doc/2010-05-08/">`
	end          = `<ResponseMetadata><RequestId>R</RequestId></ResponseMetadata>`
	roleArn      = "arn:aws:iam::111122223333:role/dev"
	credentials1 = `<Credentials><AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>s/+</SecretAccessKey>` +
		`<SessionToken>t=</SessionToken><Expiration>2026-11-23T06:04:08Z</Expiration></Credentials>`
	assumed1 = `<AssumedRoleUser><AssumedRoleId>AROADEV:me</AssumedRoleId>` +
		`<Arn>arn:aws:sts::111122223333:assumed-role/dev/me</Arn></AssumedRoleUser>`
	userAda = `<Path>/</Path><UserName>ada</UserName><UserId>AIDAADA</UserId>` +
		`<Arn>arn:aws:iam::111122223333:user/ada</Arn><CreateDate>2026-11-23T06:04:08Z</CreateDate>`
	userBob = `<Path>/</Path><UserName>bob</UserName><UserId>AIDABOB</UserId>` +
		`<Arn>arn:aws:iam::111122223333:user/bob</Arn><CreateDate>2026-11-23T06:04:08Z</CreateDate>`
	adaKeyXML = `<UserName>ada</UserName><AccessKeyId>` + adaKey + `</AccessKeyId><Status>Active</Status>` +
		`<CreateDate>2026-11-23T06:04:08Z</CreateDate>`
)

// A golden is a call with its whole answer: op is its name, result the content of <opResult>, "-" for none.
type golden struct {
	service, key, call, result string
	asked, did, recorded       string
}

var goldens = []golden{
	{"sts", adaKey, "GetCallerIdentity", `<Arn>arn:aws:iam::111122223333:user/ada</Arn><UserId>AIDAADA</UserId>` +
		`<Account>111122223333</Account>`, "", "", ""},
	{"sts", roleKey, "GetCallerIdentity", `<Arn>arn:aws:sts::111122223333:assumed-role/dev/ada</Arn>` +
		`<UserId>AROADEV:ada</UserId><Account>111122223333</Account>`, "", "", ""},
	{"sts", adaKey, "GetSessionToken", credentials1, "", "SessionToken 0", ""},
	{"sts", adaKey, "GetSessionToken DurationSeconds=129600", credentials1, "",
		"SessionToken 129600", ""},
	{"sts", adaKey, "AssumeRole RoleArn=" + roleArn + " RoleSessionName=me", assumed1 + credentials1,
		"sts:AssumeRole " + roleArn, "AssumeRole {RoleArn:" + roleArn + " SessionName:me Duration:0 Policy: " +
			"PolicyArns:[] ExternalID: SourceIdentity: Tags:map[]}", ""},
	{"sts", adaKey, "AssumeRole RoleArn=" + roleArn + " RoleSessionName=me DurationSeconds=900 Policy={} " +
		"PolicyArns.member.2.arn=arn:aws:iam::aws:policy/B PolicyArns.member.1.arn=arn:aws:iam::aws:policy/A " +
		"ExternalId=e:1 SourceIdentity=src Tags.member.1.Key=k Tags.member.1.Value=v Tags.member.2.Key=l " +
		"Tags.member.2.Value=",
		assumed1 + credentials1 + `<PackedPolicySize>7</PackedPolicySize><SourceIdentity>src</SourceIdentity>`,
		"sts:AssumeRole " + roleArn + "; sts:TagSession " + roleArn + "; sts:SetSourceIdentity " + roleArn,
		"AssumeRole {RoleArn:" + roleArn + " SessionName:me Duration:900 Policy:{} " +
			"PolicyArns:[arn:aws:iam::aws:policy/A arn:aws:iam::aws:policy/B] ExternalID:e:1 SourceIdentity:src " +
			"Tags:map[k:v l:]}", ""},
	{"sts", "", "AssumeRoleWithWebIdentity RoleArn=" + roleArn + " RoleSessionName=me WebIdentityToken=a.b.c " +
		"ProviderId=prov DurationSeconds=43200",
		`<SubjectFromWebIdentityToken>s&amp;p</SubjectFromWebIdentityToken><Audience>aud</Audience>` + assumed1 +
			credentials1 + `<Provider>https://issuer</Provider>`, "",
		"AssumeRoleWithWebIdentity {RoleArn:" + roleArn + " SessionName:me Token:a.b.c Provider:prov Duration:43200 " +
			"Policy: PolicyArns:[]}", ""},
	{"sts", adaKey, "GetAccessKeyInfo AccessKeyId=" + adaKey, `<Account>111122223333</Account>`, "sts:GetAccessKeyInfo",
		"KeyAccount " + adaKey, ""},

	{"iam", rootKey, "CreateUser UserName=eve Path=/", `<User><Path>/</Path><UserName>eve</UserName>` +
		`<UserId>AIDANEW</UserId><Arn>arn:aws:iam::111122223333:user/eve</Arn>` +
		`<CreateDate>2026-11-23T06:04:08Z</CreateDate></User>`, "iam:CreateUser arn:aws:iam::111122223333:user/eve",
		"CreateUser eve", "iam:CreateUser arn:aws:iam::111122223333:user/eve ok"},
	{"iam", rootKey, "GetUser UserName=ada", `<User>` + userAda + `</User>`,
		"iam:GetUser arn:aws:iam::111122223333:user/ada", "", ""},
	{"iam", adaKey, "GetUser", `<User>` + userAda + `</User>`, "iam:GetUser arn:aws:iam::111122223333:user/ada", "",
		""},
	{"iam", rootKey, "GetUser", `<User><Path>/</Path><UserId>111122223333</UserId>` +
		`<Arn>arn:aws:iam::111122223333:root</Arn></User>`, "iam:GetUser arn:aws:iam::111122223333:root", "", ""},
	{"iam", rootKey, "ListUsers", `<Users><member>` + userAda + `</member><member>` + userBob + `</member></Users>` +
		`<IsTruncated>false</IsTruncated>`, "iam:ListUsers arn:aws:iam::111122223333:user/*", "", ""},
	{"iam", rootKey, "ListUsers MaxItems=1 PathPrefix=/", `<Users><member>` + userAda + `</member></Users>` +
		`<IsTruncated>true</IsTruncated><Marker>ada</Marker>`, "iam:ListUsers arn:aws:iam::111122223333:user/*", "",
		""},
	{"iam", rootKey, "ListUsers MaxItems=1 Marker=ada", `<Users><member>` + userBob + `</member></Users>` +
		`<IsTruncated>false</IsTruncated>`, "iam:ListUsers arn:aws:iam::111122223333:user/*", "", ""},
	{"iam", rootKey, "ListUsers PathPrefix=/team/", `<Users></Users><IsTruncated>false</IsTruncated>`,
		"iam:ListUsers arn:aws:iam::111122223333:user/*", "", ""},
	{"iam", rootKey, "DeleteUser UserName=bob", "-", "iam:DeleteUser arn:aws:iam::111122223333:user/bob",
		"DeleteUser bob", "iam:DeleteUser arn:aws:iam::111122223333:user/bob ok"},

	{"iam", rootKey, "PutUserPolicy UserName=ada PolicyName=p PolicyDocument={}", "-",
		"iam:PutUserPolicy arn:aws:iam::111122223333:user/ada", "PutUserPolicy ada p {}",
		"iam:PutUserPolicy arn:aws:iam::111122223333:user/ada ok"},
	{"iam", rootKey, "GetUserPolicy UserName=ada PolicyName=own",
		`<UserName>ada</UserName><PolicyName>own</PolicyName>` +
			`<PolicyDocument>%7B%22Version%22%3A%20%222012-10-17%22%7D</PolicyDocument>`,
		"iam:GetUserPolicy arn:aws:iam::111122223333:user/ada", "", ""},
	{"iam", rootKey, "ListUserPolicies UserName=ada", `<PolicyNames><member>more</member><member>own</member>` +
		`</PolicyNames><IsTruncated>false</IsTruncated>`, "iam:ListUserPolicies arn:aws:iam::111122223333:user/ada",
		"", ""},
	{"iam", rootKey, "ListUserPolicies UserName=ada MaxItems=1", `<PolicyNames><member>more</member></PolicyNames>` +
		`<IsTruncated>true</IsTruncated><Marker>more</Marker>`,
		"iam:ListUserPolicies arn:aws:iam::111122223333:user/ada", "", ""},
	{"iam", rootKey, "ListUserPolicies UserName=bob Marker=z", `<PolicyNames></PolicyNames>` +
		`<IsTruncated>false</IsTruncated>`, "iam:ListUserPolicies arn:aws:iam::111122223333:user/bob", "", ""},
	{"iam", rootKey, "DeleteUserPolicy UserName=ada PolicyName=own", "-",
		"iam:DeleteUserPolicy arn:aws:iam::111122223333:user/ada", "DeleteUserPolicy ada own",
		"iam:DeleteUserPolicy arn:aws:iam::111122223333:user/ada ok"},

	{"iam", rootKey, "CreateAccessKey UserName=ada", `<AccessKey><UserName>ada</UserName><AccessKeyId>AKIANEW` +
		`</AccessKeyId><Status>Active</Status><SecretAccessKey>new secret</SecretAccessKey>` +
		`<CreateDate>2026-11-23T06:04:08Z</CreateDate></AccessKey>`,
		"iam:CreateAccessKey arn:aws:iam::111122223333:user/ada", "CreateKey ada",
		"iam:CreateAccessKey arn:aws:iam::111122223333:user/ada ok"},
	{"iam", adaKey, "ListAccessKeys", `<AccessKeyMetadata><member>` + adaKeyXML + `</member></AccessKeyMetadata>` +
		`<IsTruncated>false</IsTruncated>`, "iam:ListAccessKeys arn:aws:iam::111122223333:user/ada", "", ""},
	{"iam", rootKey, "ListAccessKeys", `<AccessKeyMetadata><member><AccessKeyId>` + rootKey + `</AccessKeyId>` +
		`<Status>Active</Status><CreateDate>2026-11-23T06:04:08Z</CreateDate></member></AccessKeyMetadata>` +
		`<IsTruncated>false</IsTruncated>`, "iam:ListAccessKeys arn:aws:iam::111122223333:root", "", ""},
	{"iam", rootKey, "ListAccessKeys UserName=bob", `<AccessKeyMetadata></AccessKeyMetadata>` +
		`<IsTruncated>false</IsTruncated>`, "iam:ListAccessKeys arn:aws:iam::111122223333:user/bob", "", ""},
	{"iam", adaKey, "UpdateAccessKey AccessKeyId=" + adaKey + " Status=Inactive", "-",
		"iam:UpdateAccessKey arn:aws:iam::111122223333:user/ada", "UpdateKey " + adaKey + " Inactive",
		"iam:UpdateAccessKey arn:aws:iam::111122223333:user/ada ok"},
	{"iam", rootKey, "DeleteAccessKey UserName=ada AccessKeyId=" + adaKey, "-",
		"iam:DeleteAccessKey arn:aws:iam::111122223333:user/ada", "DeleteKey " + adaKey,
		"iam:DeleteAccessKey arn:aws:iam::111122223333:user/ada ok"},
	{"iam", adaKey, "GetAccessKeyLastUsed AccessKeyId=" + adaKey, `<UserName>ada</UserName><AccessKeyLastUsed>` +
		`<LastUsedDate>2026-11-23T06:04:08Z</LastUsedDate><ServiceName>gamelift</ServiceName>` +
		`<Region>us-west-2</Region>` +
		`</AccessKeyLastUsed>`, "iam:GetAccessKeyLastUsed arn:aws:iam::111122223333:user/ada", "", ""},
	{"iam", adaKey, "GetAccessKeyLastUsed AccessKeyId=" + rootKey, `<AccessKeyLastUsed><ServiceName>N/A</ServiceName>` +
		`<Region>N/A</Region></AccessKeyLastUsed>`, "iam:GetAccessKeyLastUsed arn:aws:iam::111122223333:root", "", ""},
}

// want is the whole answer.
func (g *golden) want(name string) string {
	namespace, result := sts, ""
	if g.service == "iam" {
		namespace = iam
	}
	if g.result != "-" {
		result = "<" + name + "Result>" + g.result + "</" + name + "Result>"
	}
	return "<" + name + "Response" + namespace + result + end + "</" + name + "Response>"
}

func TestOperations(t *testing.T) {
	called := map[string]bool{}
	for _, g := range goldens {
		w := newWorld(t)
		status, body := w.call(g.service, g.key, g.call)
		name, _, _ := strings.Cut(g.call, " ")
		called[name] = true
		if want := g.want(name); status != 200 || body != want {
			t.Errorf("%s:\ngot  %d %s\nwant 200 %s", g.call, status, body, want)
		}
		for what, is := range map[string][2]string{
			"asked":    {strings.Join(w.asked, "; "), g.asked},
			"did":      {strings.Join(w.did, "; "), g.did},
			"recorded": {strings.Join(w.recorded, "; "), g.recorded},
			"observed": {strings.Join(w.observed, "; "), g.service + ":" + name},
		} {
			if is[0] != is[1] {
				t.Errorf("%s: %s\n%q, want\n%q", g.call, what, is[0], is[1])
			}
		}
	}
	for _, s := range services {
		for _, o := range s.operations {
			if !called[o.name] {
				t.Errorf("no test of %s", o.name)
			}
		}
	}
}

// TestDenied: policies are asked before parameters are read, and for every operation but those that ask none, as on
// AWS.
func TestDenied(t *testing.T) {
	for _, s := range services {
		for _, o := range s.operations {
			if o.unsigned || o.resources == nil {
				continue
			}
			w := newWorld(t)
			w.denied[s.name+":"+o.name] = true
			status, body := w.call(s.name, adaKey, o.name+" UserName=!")
			w.failsWith(o.name, status, body, 403, "AccessDenied",
				"User: arn:aws:iam::111122223333:user/ada is not authorized to perform: "+s.name+":"+o.name)
			if len(w.did)+len(w.recorded) > 0 {
				t.Errorf("%s did %v %v", o.name, w.did, w.recorded)
			}
		}
	}
	for _, action := range []string{"sts:TagSession", "sts:SetSourceIdentity"} {
		w := newWorld(t)
		w.denied[action] = true
		status, body := w.call("sts", adaKey, "AssumeRole RoleArn="+roleArn+" RoleSessionName=me SourceIdentity=src "+
			"Tags.member.1.Key=k Tags.member.1.Value=v")
		w.failsWith(action, status, body, 403, "AccessDenied", action)
	}
	w := newWorld(t)
	w.denied["sts:GetCallerIdentity"] = true
	if status, _ := w.call("sts", adaKey, "GetCallerIdentity"); status != 200 {
		t.Error("GetCallerIdentity was denied")
	}
}

// TestResourcesOfUnknown: what does not exist, and a caller who is no user, are decided for all resources.
func TestResourcesOfUnknown(t *testing.T) {
	for _, c := range []struct{ service, key, call, want string }{
		{"iam", rootKey, "GetAccessKeyLastUsed AccessKeyId=AKIA", "iam:GetAccessKeyLastUsed"},
		{"iam", roleKey, "CreateAccessKey", "iam:CreateAccessKey"},
		{"sts", rootKey, "AssumeRole", "sts:AssumeRole"},
	} {
		w := newWorld(t)
		w.call(c.service, c.key, c.call)
		if !reflect.DeepEqual(w.asked, []string{c.want}) {
			t.Errorf("%s: asked %q", c.call, w.asked)
		}
	}
}
