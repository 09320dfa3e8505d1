package arn_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire/arn"
)

const (
	region  = "eu-west-1"
	account = "111122223333"
	fleetID = "fleet-11111111-2222-3333-4444-555555555555"
)

// sdkPattern is what server SDKs hold an ARN against before they send it.
var sdkPattern = regexp.MustCompile(`^arn:(aws|aws-cn):gamelift:([a-z]{2}-[a-z]+-\d{1}):(\d{12})?:([a-z]+)\/(.+)$`)

func TestBuild(t *testing.T) {
	tests := []struct{ got, want string }{
		{arn.Fleet(region, account, "fleet-1"), "arn:aws:gamelift:eu-west-1:111122223333:fleet/fleet-1"},
		{arn.Fleet(region, account, "containerfleet-1"),
			"arn:aws:gamelift:eu-west-1:111122223333:containerfleet/containerfleet-1"},
		{arn.Fleet("cn-north-1", account, "fleet-1"), "arn:aws-cn:gamelift:cn-north-1:111122223333:fleet/fleet-1"},
		{arn.Location(region, account, "custom-attic"),
			"arn:aws:gamelift:eu-west-1:111122223333:location/custom-attic"},
		{arn.Compute(region, account, "DesktopPC"), "arn:aws:gamelift:eu-west-1:111122223333:compute/DesktopPC"},
		{arn.Alias(region, account, "alias-1"), "arn:aws:gamelift:eu-west-1:111122223333:alias/alias-1"},
		{arn.Build(region, account, "build-1"), "arn:aws:gamelift:eu-west-1:111122223333:build/build-1"},
		{arn.Script(region, account, "script-1"), "arn:aws:gamelift:eu-west-1:111122223333:script/script-1"},
		{arn.Queue(region, account, "harbor"), "arn:aws:gamelift:eu-west-1:111122223333:gamesessionqueue/harbor"},
		{arn.MatchmakingConfiguration(region, account, "duel.v2"),
			"arn:aws:gamelift:eu-west-1:111122223333:matchmakingconfiguration/duel.v2"},
		{arn.MatchmakingRuleSet(region, account, "fair"),
			"arn:aws:gamelift:eu-west-1:111122223333:matchmakingruleset/fair"},
		{arn.GameSession(region, "fleet-1", "", "gsess-1"), "arn:aws:gamelift:eu-west-1::gamesession/fleet-1/gsess-1"},
		{arn.GameSession(region, "fleet-1", region, "gsess-1"),
			"arn:aws:gamelift:eu-west-1::gamesession/fleet-1/gsess-1"},
		{arn.GameSession(region, "fleet-1", "custom-attic", "gsess-1"),
			"arn:aws:gamelift:eu-west-1::gamesession/fleet-1/custom-attic/gsess-1"},
		{arn.GameSession(region, "fleet-1", "us-west-2", "gsess-1"),
			"arn:aws:gamelift:eu-west-1::gamesession/fleet-1/us-west-2/gsess-1"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
		if !sdkPattern.MatchString(tt.got) {
			t.Errorf("server SDKs refuse %s", tt.got)
		}
		if a, ok := arn.Parse(tt.got); !ok || a.String() != tt.got {
			t.Errorf("Parse(%s) = %+v, %v", tt.got, a, ok)
		}
	}
}

func TestParseIDOrARN(t *testing.T) {
	parsers := map[string]func(string) (string, bool){
		"fleet": arn.ParseFleet, "location": arn.ParseLocation, "compute": arn.ParseCompute, "alias": arn.ParseAlias,
		"build": arn.ParseBuild, "script": arn.ParseScript, "queue": arn.ParseQueue,
		"configuration": arn.ParseMatchmakingConfiguration, "rule set": arn.ParseMatchmakingRuleSet,
	}
	tests := []struct {
		parser, in, want string // want "" = refused
	}{
		{"fleet", "fleet-1a-B", "fleet-1a-B"},
		{"fleet", "containerfleet-1", "containerfleet-1"},
		{"fleet", "arn:aws:gamelift:us-west-2::fleet/fleet-1", "fleet-1"},
		{"fleet", "arn:aws:gamelift:us-west-2:111122223333:fleet/fleet-1", "fleet-1"},
		{"fleet", "arn:aws:gamelift:us-west-2:111122223333:containerfleet/containerfleet-1", "containerfleet-1"},
		{"fleet", "arn:muster:gamelift:local::fleet/fleet-1", "fleet-1"},
		{"fleet", "", ""},
		{"fleet", "fleet-", ""},
		{"fleet", "fleet", ""},
		{"fleet", "Fleet-1", ""},
		{"fleet", "fleets-1", ""},
		{"fleet", "fleet-1.2", ""},
		{"fleet", "fleet-" + strings.Repeat("a", 122), "fleet-" + strings.Repeat("a", 122)},
		{"fleet", "fleet-" + strings.Repeat("a", 123), ""},
		{"fleet", "arn:aws:gamelift:us-west-2:1111:fleet/fleet-1", ""},
		{"fleet", "arn:aws:gamelift:us-west-2:11112222333x:fleet/fleet-1", ""},
		{"fleet", "arn:aws:gamelift:::fleet/fleet-1", ""},
		{"fleet", "arn::gamelift:us-west-2::fleet/fleet-1", ""},
		{"fleet", "arn:aws:ec2:us-west-2::fleet/fleet-1", ""},
		{"fleet", "arn:aws:gamelift:us-west-2::alias/alias-1", ""},
		{"fleet", "arn:aws:gamelift:us-west-2::fleet/fleet-1/extra", ""},
		{"fleet", "arn:aws:gamelift:us-west-2::fleet:fleet-1", ""},
		{"fleet", "arn:aws:gamelift:us-west-2:fleet/fleet-1", ""},
		{"fleet", "ARN:aws:gamelift:us-west-2::fleet/fleet-1", ""},
		{"location", "custom-a", "custom-a"},
		{"location", "custom-", ""},
		{"location", "us-west-2", ""},
		{"location", "custom-a_b", ""},
		{"location", "custom-" + strings.Repeat("a", 58), ""},
		{"location", "arn:aws:gamelift:eu-west-1:111122223333:location/custom-attic", "custom-attic"},
		{"location", "arn:aws:gamelift:eu-west-1:111122223333:location/us-west-2", ""},
		{"compute", "DesktopPC", "DesktopPC"},
		{"compute", "task-1/container-2", "task-1/container-2"},
		{"compute", "arn:aws:gamelift:eu-west-1::compute/task-1/container-2", "task-1/container-2"},
		{"compute", "a/b/c", ""},
		{"compute", "a/", ""},
		{"compute", "/a", ""},
		{"compute", "a_b", ""},
		{"compute", strings.Repeat("a", 129), ""},
		{"alias", "alias-1", "alias-1"},
		{"alias", "alias-1 2", ""},
		{"alias", "alias-", ""},
		{"alias", "fleet-1", ""},
		{"alias", "arn:aws:gamelift:eu-west-1::alias/alias-1", "alias-1"},
		{"build", "build-1", "build-1"},
		{"build", "arn:aws:gamelift:eu-west-1:111122223333:build/build-1", "build-1"},
		{"build", "script-1", ""},
		{"script", "script-1", "script-1"},
		{"script", "arn:aws:gamelift:eu-west-1:111122223333:script/script-1", "script-1"},
		{"queue", "harbor-1", "harbor-1"},
		{"queue", "harbor.1", ""},
		{"queue", "arn:aws:gamelift:eu-west-1::gamesessionqueue/harbor", "harbor"},
		{"configuration", "duel.v2", "duel.v2"},
		{"configuration", "arn:aws:gamelift:eu-west-1::matchmakingconfiguration/duel.v2", "duel.v2"},
		{"configuration", "arn:aws:gamelift:eu-west-1::matchmakingruleset/fair", ""},
		{"rule set", "fair", "fair"},
		{"rule set", "arn:aws:gamelift:eu-west-1:111122223333:matchmakingruleset/fair", "fair"},
		{"rule set", "fair play", ""},
	}
	for _, tt := range tests {
		got, ok := parsers[tt.parser](tt.in)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s %q: got %q, %v, want %q", tt.parser, tt.in, got, ok, tt.want)
		}
	}
}

func TestParseGameSession(t *testing.T) {
	tests := []struct {
		in                                string
		region, fleetID, location, idPart string // region "" = refused
	}{
		{"arn:aws:gamelift:eu-west-1::gamesession/fleet-1/gsess-1", "eu-west-1", "fleet-1", "eu-west-1", "gsess-1"},
		{"arn:aws:gamelift:eu-west-1::gamesession/fleet-1/custom-attic/gsess-1", "eu-west-1", "fleet-1", "custom-attic",
			"gsess-1"},
		{"arn:aws:gamelift:eu-west-1:111122223333:gamesession/fleet-1/us-west-2/place-1", "eu-west-1", "fleet-1",
			"us-west-2", "place-1"},
		{"arn:aws:gamelift:local::gamesession/fleet-123/gsess-abc", "local", "fleet-123", "local", "gsess-abc"},
		{in: "gsess-1"},
		{in: ""},
		{in: "arn:aws:gamelift:eu-west-1::gamesession/fleet-1"},
		{in: "arn:aws:gamelift:eu-west-1::gamesession/fleet-1/"},
		{in: "arn:aws:gamelift:eu-west-1::gamesession/fleet-1//gsess-1"},
		{in: "arn:aws:gamelift:eu-west-1::gamesession/fleet-1/a/b/gsess-1"},
		{in: "arn:aws:gamelift:eu-west-1::gamesession/fleet-1/custom-attic/"},
		{in: "arn:aws:gamelift:eu-west-1::gamesession//custom-attic/gsess-1"},
		{in: "arn:aws:gamelift:eu-west-1::gamesession/other-1/gsess-1"},
		{in: "arn:aws:gamelift:eu-west-1::gamesession/fleet-1/gsess_1"},
		{in: "arn:aws:gamelift:eu-west-1::gamesession/fleet-1/custom_a/gsess-1"},
		{in: "arn:aws:gamelift:eu-west-1::fleet/fleet-1"},
		{in: "arn:aws:gamelift:eu-west-1::gamesession/fleet-1/" + strings.Repeat("a", 500)},
	}
	for _, tt := range tests {
		region, fleetID, location, idPart, ok := arn.ParseGameSession(tt.in)
		if region != tt.region || fleetID != tt.fleetID || location != tt.location || idPart != tt.idPart ||
			ok != (tt.region != "") {
			t.Errorf("%q: got %q %q %q %q %v", tt.in, region, fleetID, location, idPart, ok)
		}
	}
}

func TestParseResource(t *testing.T) {
	const prefix = "arn:aws:gamelift:eu-west-1:111122223333:"
	tests := []struct {
		resource string
		kind     arn.Kind // "" = refused
		id       string
	}{
		{"alias/alias-1", arn.KindAlias, "alias-1"},
		{"build/build-1", arn.KindBuild, "build-1"},
		{"containerfleet/containerfleet-1", arn.KindContainerFleet, "containerfleet-1"},
		{"containergroupdefinition/web", arn.KindContainerGroupDefinition, "web"},
		{"containergroupdefinition/web:3", arn.KindContainerGroupDefinition, "web:3"},
		{"fleet/fleet-1", arn.KindFleet, "fleet-1"},
		{"gameservergroup/g.1", arn.KindGameServerGroup, "g.1"},
		{"gamesessionqueue/harbor", arn.KindQueue, "harbor"},
		{"location/custom-attic", arn.KindLocation, "custom-attic"},
		{"matchmakingconfiguration/duel", arn.KindMatchmakingConfiguration, "duel"},
		{"matchmakingruleset/fair", arn.KindMatchmakingRuleSet, "fair"},
		{"script/script-1", arn.KindScript, "script-1"},
		{resource: "compute/DesktopPC"},
		{resource: "gamesession/fleet-1/gsess-1"},
		{resource: "containergroupdefinition/web:"},
		{resource: "containergroupdefinition/web:x"},
		{resource: "vault/v-1"},
		{resource: "fleet/alias-1"},
		{resource: "fleet"},
		{resource: ""},
	}
	for _, tt := range tests {
		kind, id, ok := arn.ParseResource(prefix + tt.resource)
		if kind != tt.kind || id != tt.id || ok != (tt.kind != "") {
			t.Errorf("%q: got %q %q %v", tt.resource, kind, id, ok)
		}
	}
	if _, _, ok := arn.ParseResource("fleet-1"); ok {
		t.Error("a bare id is no resource ARN")
	}
	if _, _, ok := arn.ParseResource(prefix + "alias/alias-" + strings.Repeat("a", 1024)); ok {
		t.Error("an ARN over the limit was read")
	}
}

func TestValidRegion(t *testing.T) {
	pattern := regexp.MustCompile(`^[a-z]{2}-[a-z]+-\d$`)
	for _, s := range []string{
		"eu-west-1", "ap-northeast-2", "cn-north-1", "aa-b-0", "us-gov-west-1", "local", "", "eu-west-10", "eu-west-",
		"eu--1",
		"EU-west-1", "e-west-1", "eu-we5t-1", "eu-west-x", "eu_west-1", "euwest--1", "eu-west1", "eu-wést-1", "aa-a-",
	} {
		if got, want := arn.ValidRegion(s), pattern.MatchString(s); got != want {
			t.Errorf("ValidRegion(%q) = %v, want %v", s, got, want)
		}
	}
}

func TestValidAccount(t *testing.T) {
	for s, want := range map[string]bool{
		account: true, "000000000000": true, "": false, "11112222333": false, "1111222233334": false,
		"11112222333x": false,
	} {
		if got := arn.ValidAccount(s); got != want {
			t.Errorf("ValidAccount(%q) = %v, want %v", s, got, want)
		}
	}
}

func TestParsingAllocatesNothing(t *testing.T) {
	id := arn.GameSession(region, fleetID, "custom-attic", "gsess-11111111-2222-3333-4444-555555555555")
	fleet := arn.Fleet(region, account, fleetID)
	n := testing.AllocsPerRun(100, func() {
		if _, _, _, _, ok := arn.ParseGameSession(id); !ok {
			t.Fatal("not read")
		}
		if _, ok := arn.ParseFleet(fleet); !ok {
			t.Fatal("not read")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(arn.Fleet(region, account, fleetID))
	f.Add(arn.GameSession(region, fleetID, "custom-attic", "gsess-1"))
	f.Add(arn.GameSession(region, fleetID, "", "gsess-1"))
	f.Add("arn:aws:gamelift:eu-west-1::compute/a/b")
	f.Add("arn:aws:gamelift:eu-west-1::containergroupdefinition/a:1")
	f.Add("arn:::::/")
	f.Fuzz(func(t *testing.T, s string) {
		a, ok := arn.Parse(s)
		if ok && a.String() != s {
			t.Fatalf("%q reads as %+v, which writes %q", s, a, a)
		}
		gsRegion, gsFleet, location, idPart, isSession := arn.ParseGameSession(s)
		if !isSession {
			return
		}
		if !ok || a.Kind != arn.KindGameSession {
			t.Fatalf("%q is a game session to one parser only", s)
		}
		if quick, ok := arn.FleetOfGameSession(s); !ok || quick != gsFleet {
			t.Fatalf("the fleet of %q is %q, and %q", s, gsFleet, quick)
		}
		again := arn.GameSession(gsRegion, gsFleet, location, idPart)
		r, fl, l, id, ok := arn.ParseGameSession(again)
		sameLocation := l == location || l == "" && location == gsRegion
		if !ok || r != gsRegion || fl != gsFleet || id != idPart || !sameLocation {
			t.Fatalf("%q became %q", s, again)
		}
	})
}

func BenchmarkParseGameSession(b *testing.B) {
	id := arn.GameSession(region, fleetID, "custom-attic", "gsess-11111111-2222-3333-4444-555555555555")
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, _, ok := arn.ParseGameSession(id); !ok {
			b.Fatal("not read")
		}
	}
}
