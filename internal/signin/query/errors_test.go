package query

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire/fault"
)

const assume = "AssumeRole RoleArn=" + roleArn + " RoleSessionName=me "

func TestValidation(t *testing.T) {
	long := strings.Repeat("x", 65)
	for _, c := range []struct{ service, key, call, want string }{
		{"sts", adaKey, "AssumeRole RoleArn=" + roleArn + " RoleSessionName=a/b",
			"1 validation error detected: Value 'a/b' at 'roleSessionName' failed to satisfy constraint: Member must " +
				`satisfy regular expression pattern: [\w+=,.@-]*`},
		{"sts", adaKey, "AssumeRole RoleSessionName=x",
			"2 validation errors detected: Value null at 'roleArn' failed " +
				"to satisfy constraint: Member must not be null; Value 'x' at 'roleSessionName' failed to satisfy " +
				"constraint: Member must have length greater than or equal to 2"},
		{"sts", adaKey, "AssumeRole RoleArn=" + roleArn + " RoleSessionName=" + long,
			"Value '" + long +
				"' at 'roleSessionName' failed to satisfy constraint: Member must have length less than " +
				"or equal to 64"},
		{"sts", adaKey, assume + "DurationSeconds=899", "Value '899' at 'durationSeconds' failed to satisfy " +
			"constraint: Member must have value greater than or equal to 900"},
		{"sts", adaKey, assume + "DurationSeconds=43201", "Member must have value less than or equal to 43200"},
		{"sts", adaKey, assume + "DurationSeconds=0", "Member must have value greater than or equal to 900"},
		{"sts", adaKey, assume + "DurationSeconds=1h", "Value '1h' at 'durationSeconds' failed to satisfy constraint"},
		{"sts", adaKey, assume + "DurationSeconds=", "Member must be a whole number"},
		{"sts", adaKey, assume + "Policy=",
			"at 'policy' failed to satisfy constraint: Member must have length greater"},
		{"sts", adaKey, assume + "ExternalId=a!b", "at 'externalId'"},
		{"sts", adaKey, assume + "SourceIdentity=a", "at 'sourceIdentity'"},
		{"sts", adaKey, assume + "PolicyArns.member.1.arn=short", "at 'policyArns.1.member.arn'"},
		{"sts", adaKey, assume + "PolicyArns.member.1=" + roleArn, "Value null at 'policyArns.1.member.arn'"},
		{"sts", adaKey, assume + "PolicyArns.1.arn=" + roleArn, "Value 'PolicyArns.1.arn' at 'policyArns' failed"},
		{"sts", adaKey, assume + "PolicyArns.member.0.arn=" + roleArn, "Member must be a list: PolicyArns.member.1"},
		{"sts", adaKey, assume + "PolicyArns.member.01.arn=" + roleArn, "Member must be a list"},
		{"sts", adaKey, assume + manyOf("PolicyArns.member.%.arn="+roleArn, 11),
			"Value of a list at 'policyArns' failed to satisfy constraint: Member must have length less than or " +
				"equal to 10"},
		{"sts", adaKey, assume + manyOf("Tags.member.%.Key=%", 51), "less than or equal to 50"},
		{"sts", adaKey, assume + "Tags.member.1.Key=a Tags.member.2.Key=a",
			"at 'tags.2.member.key' failed to satisfy " +
				"constraint: Member must be unique"},
		{"sts", adaKey, assume + "Tags.member.1.Key= Tags.member.1.Value=?", "2 validation errors detected"},
		{"sts", adaKey, assume + "Tags.member.1.Value=v", "Value null at 'tags.1.member.key'"},
		{"sts", adaKey, assume + "TransitiveTagKeys.member.1=a",
			"at 'transitiveTagKeys' failed to satisfy constraint: " +
				"Member must not be given: this service does not offer it"},
		{"sts", adaKey, "GetSessionToken SerialNumber=123456789 TokenCode=123456", "2 validation errors detected"},
		{"sts", adaKey, "GetSessionToken DurationSeconds=129601", "less than or equal to 129600"},
		{"sts", adaKey, "GetAccessKeyInfo", "Value null at 'accessKeyId'"},
		{"sts", "", "AssumeRoleWithWebIdentity RoleArn=" + roleArn + " RoleSessionName=me WebIdentityToken=abc",
			"Value of a secret at 'webIdentityToken' failed to satisfy constraint: Member must have length greater"},
		{"iam", rootKey, "CreateUser", "Value null at 'userName'"},
		{"iam", rootKey, "CreateUser UserName=" + long, "less than or equal to 64"},
		{"iam", rootKey, "CreateUser UserName=x Path=/team/", "Value '/team/' at 'path'"},
		{"iam", rootKey, "CreateUser UserName=x PermissionsBoundary=" + roleArn, "at 'permissionsBoundary'"},
		{"iam", rootKey, "GetUser UserName=", "at 'userName'"},
		{"iam", roleKey, "GetUser", "Value null at 'userName' failed to satisfy constraint: Member must not be null " +
			"when calling with non-User credentials"},
		{"iam", roleKey, "CreateAccessKey", "non-User"}, {"iam", roleKey, "ListAccessKeys", "non-User"},
		{"iam", rootKey, "ListUsers MaxItems=1001", "at 'maxItems'"},
		{"iam", rootKey, "ListUsers Marker=", "at 'marker'"},
		{"iam", rootKey, "DeleteUser", "at 'userName'"},
		{"iam", rootKey, "PutUserPolicy UserName=ada PolicyName=p", "at 'policyDocument'"},
		{"iam", rootKey, "GetUserPolicy UserName=ada", "at 'policyName'"},
		{"iam", rootKey, "ListUserPolicies", "at 'userName'"}, {"iam", rootKey, "DeleteUserPolicy", "2 validation"},
		{"iam", adaKey, "UpdateAccessKey AccessKeyId=" + adaKey + " Status=Expired",
			"Value 'Expired' at 'status' failed to satisfy constraint: Member must satisfy enum value set: " +
				"[Active, Inactive]"},
		{"iam", adaKey, "DeleteAccessKey AccessKeyId=short", "at 'accessKeyId'"},
		{"iam", adaKey, "GetAccessKeyLastUsed", "at 'accessKeyId'"},
	} {
		w := newWorld(t)
		status, body := w.call(c.service, c.key, c.call)
		w.failsWith(c.call, status, body, 400, "ValidationError", c.want)
		if len(w.did) > 0 {
			t.Errorf("%s did %v", c.call, w.did)
		}
	}
}

// manyOf returns n words, with their numbers for %.
func manyOf(word string, n int) string {
	var words []string
	for i := range n {
		words = append(words, strings.ReplaceAll(word, "%", strconv.Itoa(i+1)))
	}
	return strings.Join(words, " ")
}

// TestFaults: the code and status of every fault that package access returns.
func TestFaults(t *testing.T) {
	web := "AssumeRoleWithWebIdentity RoleArn=" + roleArn + " RoleSessionName=me WebIdentityToken=a.b.c"
	for _, c := range []struct {
		service, key, call string
		kind               fault.Kind
		status             int
		code               string
	}{
		{"sts", adaKey, assume, fault.AccessDenied, 403, "AccessDenied"},
		{"sts", adaKey, assume, fault.InvalidRequest, 400, "ValidationError"},
		{"sts", adaKey, assume, fault.NotFound, 400, "ValidationError"},
		{"sts", adaKey, assume, fault.MalformedPolicyDocument, 400, "MalformedPolicyDocument"},
		{"sts", adaKey, assume, fault.PackedPolicyTooLarge, 400, "PackedPolicyTooLarge"},
		{"sts", adaKey, assume, fault.Throttling, 400, "Throttling"},
		{"sts", adaKey, assume, "", 500, "InternalFailure"},
		{"sts", adaKey, "GetSessionToken", fault.AccessDenied, 403, "AccessDenied"},
		{"sts", adaKey, "GetAccessKeyInfo AccessKeyId=" + adaKey, fault.InvalidRequest, 400, "ValidationError"},
		{"sts", "", web, fault.ExpiredToken, 400, "ExpiredTokenException"},
		{"sts", "", web, fault.InvalidIdentityToken, 400, "InvalidIdentityToken"},
		{"sts", "", web, fault.IDPCommunicationError, 400, "IDPCommunicationError"},
		{"sts", "", web, "IDPRejectedClaimException", 403, "IDPRejectedClaim"},
		{"sts", "", web, fault.AccessDenied, 403, "AccessDenied"},
		{"iam", rootKey, "CreateUser UserName=eve", fault.Conflict, 409, "EntityAlreadyExists"},
		{"iam", rootKey, "CreateUser UserName=eve", fault.InvalidRequest, 400, "InvalidInput"},
		{"iam", rootKey, "CreateUser UserName=eve", fault.ServiceUnavailable, 503, "ServiceUnavailable"},
		{"iam", rootKey, "CreateUser UserName=eve", "", 500, "ServiceFailure"},
		{"iam", rootKey, "DeleteUser UserName=bob", fault.Conflict, 409, "DeleteConflict"},
		{"iam", rootKey, "CreateAccessKey UserName=ada", fault.LimitExceeded, 409, "LimitExceeded"},
		{"iam", rootKey, "CreateAccessKey UserName=eve", fault.NotFound, 404, "NoSuchEntity"},
		{"iam", adaKey, "UpdateAccessKey AccessKeyId=" + adaKey + " Status=Active", fault.NotFound, 404,
			"NoSuchEntity"},
		{"iam", rootKey, "PutUserPolicy UserName=ada PolicyName=p PolicyDocument=x", fault.MalformedPolicyDocument, 400,
			"MalformedPolicyDocument"},
	} {
		w := newWorld(t)
		w.fails = kindOr(c.kind)
		status, body := w.call(c.service, c.key, strings.TrimSpace(c.call))
		w.failsWith(c.call, status, body, c.status, c.code, "")
		if strings.Contains(body, "secret cause") {
			t.Errorf("%s reveals the cause: %s", c.call, body)
		}
		name, _, _ := strings.Cut(c.call, " ")
		if want := c.service + ":" + name + " " + c.code; w.observed[0] != want {
			t.Errorf("observed %q, want %q", w.observed[0], want)
		}
		if changes := services[0].find(name) == nil; changes != (len(w.recorded) == 1) {
			t.Errorf("%s recorded %q", c.call, w.recorded)
		}
	}
}

// TestEntities: what the endpoint itself finds missing, or in the way.
func TestEntities(t *testing.T) {
	for _, c := range []struct {
		key, call, code, text string
		status                int
	}{
		{rootKey, "GetUser UserName=eve", "NoSuchEntity", "The user with name eve cannot be found.", 404},
		{rootKey, "DeleteUser UserName=eve", "NoSuchEntity", "The user with name eve cannot be found.", 404},
		{rootKey, "DeleteUser UserName=ada", "DeleteConflict", "must delete access keys first", 409},
		{rootKey, "CreateUser UserName=ada", "EntityAlreadyExists", "ada", 409},
		{rootKey, "GetUserPolicy UserName=eve PolicyName=p", "NoSuchEntity", "user with name eve", 404},
		{rootKey, "GetUserPolicy UserName=ada PolicyName=p", "NoSuchEntity", "policy with name p", 404},
		{rootKey, "ListUserPolicies UserName=eve", "NoSuchEntity", "user with name eve", 404},
		{rootKey, "DeleteUserPolicy UserName=eve PolicyName=p", "NoSuchEntity", "user with name eve", 404},
		{rootKey, "DeleteUserPolicy UserName=ada PolicyName=p", "NoSuchEntity", "policy with name p", 404},
		{rootKey, "ListAccessKeys UserName=eve", "NoSuchEntity", "user with name eve", 404},
		{rootKey, "DeleteAccessKey UserName=eve AccessKeyId=" + adaKey, "NoSuchEntity", "user with name eve", 404},
		{rootKey, "DeleteAccessKey UserName=bob AccessKeyId=" + adaKey, "NoSuchEntity", "Access Key with id " + adaKey,
			404},
		{adaKey, "UpdateAccessKey Status=Inactive AccessKeyId=" + rootKey, "NoSuchEntity", "Key with id " + rootKey,
			404},
		{rootKey, "GetAccessKeyLastUsed AccessKeyId=AKIAUNKNOWNUNKNOWNUN", "NoSuchEntity", "AKIAUNKNOWN", 404},
	} {
		w := newWorld(t)
		status, body := w.call("iam", c.key, c.call)
		w.failsWith(c.call, status, body, c.status, c.code, c.text)
		if len(w.did) > 0 {
			t.Errorf("%s did %v", c.call, w.did)
		}
	}
	for text, change := range map[string]func(*world){
		"must delete policies first":     func(w *world) { w.users["bob"].Policies = w.users["ada"].Policies },
		"must detach all policies first": func(w *world) { w.users["bob"].Attached = []string{"GameLiftAdmin"} },
	} {
		w := newWorld(t)
		change(w)
		status, body := w.call("iam", rootKey, "DeleteUser UserName=bob")
		w.failsWith(text, status, body, 409, "DeleteConflict", text)
	}
}

func TestSignatures(t *testing.T) {
	identity := formText("sts", "GetCallerIdentity")
	for name, c := range map[string]struct {
		change func(w *world, r *http.Request)
		status int
		code   string
	}{
		"unsigned":   {func(*world, *http.Request) {}, 403, "MissingAuthenticationToken"},
		"other text": {func(w *world, r *http.Request) { w.sign(r, "sts", adaKey, "x") }, 403, "SignatureDoesNotMatch"},
		"other service": {func(w *world, r *http.Request) { w.sign(r, "iam", adaKey, identity) }, 403,
			"SignatureDoesNotMatch"},
		"unknown key": {func(w *world, r *http.Request) { w.sign(r, "sts", "AKIAUNKNOWN", identity) }, 403,
			"InvalidClientTokenId"},
		"no identity": {func(w *world, r *http.Request) { w.sign(r, "sts", "AKIANOBODYNOBODYNOBO", identity) }, 403,
			"InvalidClientTokenId"},
		"expired": {func(w *world, r *http.Request) {
			w.identities[roleKey].Expires = w.clock.Now()
			w.sign(r, "sts", roleKey, identity)
		}, 403, "ExpiredToken"},
		"old": {func(w *world, r *http.Request) {
			w.sign(r, "sts", adaKey, identity)
			w.clock.Advance(time.Hour)
		}, 403, "SignatureDoesNotMatch"},
		"incomplete": {func(_ *world, r *http.Request) { r.Header.Set("Authorization", "Basic x") }, 400,
			"IncompleteSignature"},
		"not ready": {func(w *world, r *http.Request) {
			w.sign(r, "sts", adaKey, identity)
			w.ready = false
		}, 503, "ServiceUnavailable"},
	} {
		w := newWorld(t)
		r := w.request(identity)
		c.change(w, r)
		status, body := w.send(r)
		w.failsWith(name, status, body, c.status, c.code, "")
	}
	w := newWorld(t)
	w.admits = false
	status, body := w.call("sts", "", "AssumeRoleWithWebIdentity")
	w.failsWith("not admitted", status, body, 400, "Throttling", "Rate exceeded")
	if status, _ := w.call("sts", adaKey, "GetCallerIdentity"); status != 200 {
		t.Error("a signed call needs admission")
	}
}

func TestRequests(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		body, signed string
		status       int
		code         string
	}{
		"no form":       {"a=%zz", adaKey, 400, "MalformedQueryString"},
		"no action":     {"Version=2011-06-15", adaKey, 400, "MissingAction"},
		"no version":    {"Action=GetCallerIdentity", adaKey, 400, "InvalidAction"},
		"other version": {"Action=GetCallerIdentity&Version=2010-05-08", adaKey, 400, "InvalidAction"},
		"not offered":   {formText("sts", "GetFederationToken"), adaKey, 400, "InvalidAction"},
		"long unsigned": {formText("sts", "AssumeRoleWithWebIdentity x="+strings.Repeat("x", maxUnsigned)), "", 413,
			"RequestEntityTooLarge"},
		"long signed": {formText("sts", "GetCallerIdentity x="+strings.Repeat("x", maxSigned)), adaKey, 413,
			"RequestEntityTooLarge"},
		"not long signed": {formText("iam",
			"PutUserPolicy UserName=ada PolicyName=p PolicyDocument="+strings.Repeat("x", maxUnsigned)), rootKey, 200,
			""},
	} {
		r := w.request(c.body)
		service := "sts"
		if strings.Contains(c.body, "2010") {
			service = "iam"
		}
		if c.signed != "" {
			w.sign(r, service, c.signed, c.body)
		}
		status, body := w.send(r)
		if c.code == "" && status == c.status {
			continue
		}
		w.failsWith(name, status, body, c.status, c.code, "")
	}
	status, body := w.call("sts", adaKey, "GetFederationToken")
	w.failsWith("what is offered", status, body, 400, "InvalidAction",
		"Could not find operation GetFederationToken for version 2011-06-15. Offered are GetCallerIdentity, ")
	if last := w.observed[len(w.observed)-1]; last != "unknown InvalidAction" {
		t.Errorf("observed %q", last)
	}
}
