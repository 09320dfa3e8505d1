package access

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/policy"
)

// TestConditionKeys has each condition key for a user, for the session of a role, and for the root key.
func TestConditionKeys(t *testing.T) {
	w := newWorld(t)
	w.ok(w.catalog.Change(t.Context(), catalog.CreateAlias{ID: "alias-1", Name: "live",
		Routing: catalog.Routing{Type: catalog.RoutingTerminal, Message: "closed"},
		Tags:    []catalog.Tag{{Key: "team", Value: "red"}}}))
	_, user := w.userKey("ada", allowAssume)
	_, err := w.PutRole(t.Context(), nil, RoleInput{Name: "dev", Policies: []string{"GameLiftReadOnly"}})
	w.ok(err)
	w.ok(w.Assign(t.Context(), nil, "ada", "dev"))
	keys, err := w.AssumeRole(t.Context(), user, w.from, AssumeRole{RoleArn: w.roleArn("dev"), SessionName: "ci",
		Tags: map[string]string{"stage": "beta"}})
	w.ok(err)
	role := identity(w.Access, keys)
	root := &Identity{Root: true, Arn: w.rootArn(), UserID: account, Account: account}
	from := w.from
	from.Region = "eu-west-1"
	const alias = "arn:aws:gamelift:us-west-2::alias/alias-1"
	call := Call{Tags: map[string]string{"stage": "beta", "team": "red"}}
	none := []string(nil)
	for _, c := range []struct {
		id   *Identity
		key  string
		want []string
	}{
		{user, "aws:PrincipalArn", []string{user.Arn}},
		{role, "aws:PrincipalArn", []string{"arn:aws:iam::111122223333:role/dev"}},
		{root, "aws:PrincipalArn", []string{"arn:aws:iam::111122223333:root"}},
		{user, "aws:PrincipalType", []string{"User"}},
		{role, "aws:PrincipalType", []string{"AssumedRole"}},
		{root, "aws:PrincipalType", []string{"Account"}},
		{user, "aws:userid", []string{user.UserID}},
		{role, "aws:userid", []string{role.UserID}},
		{user, "aws:username", []string{"ada"}},
		{role, "aws:username", none},
		{root, "aws:username", none},
		{user, "aws:PrincipalTag/stage", none},
		{role, "aws:PrincipalTag/stage", []string{"beta"}},
		{user, "aws:SourceIp", []string{"192.0.2.7"}},
		{user, "aws:SecureTransport", []string{"true"}},
		{user, "aws:CurrentTime", []string{"2026-11-25T12:00:00Z"}},
		{user, "aws:EpochTime", []string{"1795608000"}},
		{user, "aws:TokenIssueTime", none},
		{role, "aws:TokenIssueTime", []string{"2026-11-25T12:00:00Z"}},
		{user, "aws:RequestedRegion", []string{"eu-west-1"}},
		{user, "aws:UserAgent", []string{"test"}},
		{user, "aws:MultiFactorAuthPresent", none},
		{role, "aws:MultiFactorAuthPresent", []string{"false"}},
		{user, "aws:RequestTag/team", []string{"red"}},
		{user, "aws:RequestTag/other", none},
		{user, "aws:TagKeys", []string{"stage", "team"}},
		{user, "aws:ResourceTag/team", []string{"red"}},
		{user, "aws:ResourceTag/other", none},
		{user, "aws:Unknown", none},
	} {
		got, ok := w.values(c.id, from, &call, alias)(c.key)
		slices.Sort(got)
		if ok != (c.want != nil) || ok && !slices.Equal(got, c.want) {
			t.Errorf("%s of %s: %q %v, want %q", c.key, c.id.Arn, got, ok, c.want)
		}
	}
	bare := w.values(user, Origin{}, &Call{}, "arn:aws:gamelift:us-west-2::alias/alias-2")
	for key, want := range map[string]string{"aws:SourceIp": "", "aws:TagKeys": "", "aws:ResourceTag/team": "",
		"aws:SecureTransport": "false", "aws:UserAgent": "", "aws:RequestedRegion": ""} {
		if got, ok := bare(key); ok != (want != "") || ok && got[0] != want {
			t.Errorf("%s of a bare call: %q %v", key, got, ok)
		}
	}
}

// TestDecide decides with conditions, and explains denials.
func TestDecide(t *testing.T) {
	w := newWorld(t)
	k := w.limitedKey()
	id, create := key(w.other, k), action(t, "gamelift:CreateGameSession")
	elsewhere := w.from
	elsewhere.Address = netip.MustParseAddr("198.51.100.1")
	call := Call{Action: create, Resources: []string{fleetArn}}
	w.ok(w.Decide(id, w.from, call))
	if w.Decide(id, elsewhere, call) == nil {
		t.Error("allowed from another network")
	}
	for range 2 { // the second time from memory
		if w.AllowsAll(id, create) {
			t.Error("allowed in all cases")
		}
	}
	w.ok(w.Decide(nil, w.from, call)) // an open service
	w.ok(w.PutUserPolicy(t.Context(), nil, "backend", "deny", `{"Version":"2012-10-17","Statement":{"Sid":"No",
		"Effect":"Deny","Action":"gamelift:*","Resource":"*"}}`))
	err := w.Decide(key(w.other, k), w.from, call)
	if err == nil || err.Error() != "AccessDeniedException: User: arn:aws:iam::111122223333:user/backend is not "+
		"authorized to perform: gamelift:CreateGameSession on resource: "+fleetArn+
		" with an explicit deny in an identity-based policy" {
		t.Errorf("got %v", err)
	}
}

// TestVerdicts: an identity remembers the verdict of each action apart.
func TestVerdicts(t *testing.T) {
	v := (&Identity{}).ready().always
	for i := range actionCount {
		v.put(policy.Action(i), []verdict{allowed, depends}[i%2])
	}
	for i := range actionCount {
		if got := v.of(policy.Action(i)); got != []verdict{allowed, depends}[i%2] {
			t.Fatalf("action %d: %d", i, got)
		}
	}
}

// TestRecorded: what a record of the trail holds of a caller.
func TestRecorded(t *testing.T) {
	w := newWorld(t)
	p := w.person("ada", "developer")
	keys, err := w.RoleKeys(t.Context(), p, "developer", 0, w.from)
	w.ok(err)
	id := identity(w.Access, keys)
	for _, c := range []struct {
		id                   *Identity
		name, source, record string
	}{
		{id, "gamelift:CreateFleet", "gamelift.amazonaws.com", "AssumedRole"},
		{nil, "muster:BackupCreate", "muster", ""},
		{&Identity{Root: true, Arn: w.rootArn(), Account: account}, "CreateFleet", "muster", "Root"},
	} {
		r := w.Recorded(c.id, w.from, c.name, []string{"*"}, nil)
		if r.Source != c.source || c.record != "" && r.Identity.Type != c.record || r.Address != "192.0.2.7" {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
	for _, err := range []error{ErrInvalidGrant, &WaitError{time.Second}, ErrStranger, errHash} {
		if r := w.Recorded(id, w.from, "sso:CreateToken", nil, err); r.ErrorCode == "" || r.ErrorMessage == "" {
			t.Errorf("%v: %+v", err, r)
		}
	}
}

// TestPermits agrees with Allow, and records nothing.
func TestPermits(t *testing.T) {
	w := newWorld(t)
	_, user := w.userKey("ada", `{"Version":"2012-10-17","Statement":{"Effect":"Allow",
		"Action":"gamelift:DescribeAlias","Resource":"arn:aws:gamelift:us-west-2::alias/alias-1"}}`)
	before := len(w.events())
	describe := action(t, "gamelift:DescribeAlias")
	for resource, want := range map[string]bool{
		"arn:aws:gamelift:us-west-2::alias/alias-1": true, "arn:aws:gamelift:us-west-2::alias/alias-2": false,
	} {
		if w.Permits(user, w.from, describe, resource) != want {
			t.Errorf("%s: %v", resource, !want)
		}
	}
	if after := len(w.events()); after != before {
		t.Errorf("%d records", after-before)
	}
	if w.may(user, "gamelift:DescribeAlias", "arn:aws:gamelift:us-west-2::alias/alias-2") || len(w.events()) == before {
		t.Error("a refusal of Allow is not recorded")
	}
}
