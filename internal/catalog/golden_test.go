package catalog

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/event/eventtest"
)

// examples has one value of each type of Events, with every field set.
func examples() []any {
	runtime := &RuntimeConfiguration{
		ServerProcesses: []ServerProcess{{"/local/game/server", "-port 7777", 3},
			{"/local/game/bot", "-quiet", 1}},
		MaxConcurrentActivations: 2, ActivationTimeoutSeconds: 300,
	}
	attributes := Attributes{
		Name: "arena", Description: "duels", Cost: "0.25", ProtectionPolicy: FullProtection,
		CreationLimit: &CreationLimit{SessionsPerCreator: 3, PeriodMinutes: 15}, MetricGroups: []string{"duels"},
		GatewayMode: "ENABLED", GatewayProtocol: "IPv4", LogPaths: []string{"/local/game/logs"},
	}
	// Both targets at once: the format does not know the rule against it.
	routing := Routing{Type: RoutingSimple, Fleet: "fleet-1", Message: "closed"}
	weights := []AliasWeight{{"fleet-1", 90}, {"fleet-2", 10}}
	tags := []Tag{{"stage", "beta"}, {"team", "red"}}
	logLine := FleetEvent{"fleet-1", 300, "event-1", "SERVER_PROCESS_CRASHED", "Server process ended without a word",
		t0,
		2, "d4735e3a"}
	queue := Queue{
		ID: "queue-1", Name: "harbor", Timeout: 300,
		Destinations:    []string{"arn:aws:gamelift:us-west-2::fleet/fleet-1"},
		LatencyPolicies: []LatencyPolicy{{50, 120}, {200, 0}}, AllowedLocations: []string{"custom-office"},
		PriorityOrder: []string{"LOCATION", "COST"}, LocationOrder: []string{"custom-office"},
		CustomEventData: "blue", NotificationTarget: "arn:aws:sns:us-west-2:111122223333:topic", Created: t0,
		Updated: t0 + day,
	}
	// Queues and STANDALONE at once, too.
	configuration := MatchmakingConfiguration{
		ID: "configuration-1", Name: "ladder", Description: "what players want", RuleSet: "duel",
		Queues:     []string{"arn:aws:gamelift:us-west-2::gamesessionqueue/harbor"},
		Standalone: true, RequestTimeout: 600, AcceptanceRequired: true, AcceptanceTimeout: 30, AdditionalPlayers: 2,
		AutomaticBackfill: true,
		Properties:        []Property{{"mode", "duel"}}, Data: "data", CustomEventData: "blue",
		NotificationTarget: "arn:aws:sns:us-west-2:111122223333:topic",
		Created:            t0, Updated: t0 + day,
	}
	ruleSet := RuleSet{ID: "set-1", Name: "duel", Body: `{"ruleLanguageVersion":"1.0"}`, Created: t0}
	key := AccessKey{ID: "AKIAEXAMPLE", SealedSecret: []byte{0, 1, 254, 255}, Name: "first key", Created: t0,
		Owner: "ada", Inactive: true, Expires: t0 + day, Policies: []string{"Fleets", "GameLiftReadOnly"},
		Document: `{"Statement":[]}`}
	put := AccessKeyPut(key)
	settings := AccessSettings{LocalPasswordsOff: true,
		Epochs: []Epoch{{1, t0, t0 + day, []byte{1, 2}}, {2, t0 + day, 0, []byte{3, 4}}}}
	inline := []InlinePolicy{{"own", `{"Statement":[]}`}}
	user := User{
		Name: "ada", ID: "AIDAEXAMPLE", DisplayName: "Ada", Email: "ada@example.com", Service: true,
		Password: "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA", Issuer: "https://id.example.com", Subject: "42",
		Disabled: true, NotBefore: t0, Created: t0 - day, Groups: []string{"ops", "team"},
		ExternalGroups: []string{"staff"}, Policies: inline, Invite: bytes.Repeat([]byte{7}, 32), InviteEnds: t0 + day,
		Attached: []string{"Fleets"},
	}
	group := Group{"team", "the players' friends", t0}
	role := Role{"GameDev", "AROAEXAMPLE", "builds", []string{"Fleets", "GameLiftReadOnly"}, inline, 3600,
		`{"Statement":[]}`, t0, t0 + day}
	assignment := Assignment{"GameDev", "@team", t0, true}
	policy := Policy{"Fleets", "all of them", `{"Statement":[]}`, 2, t0, t0 + day}
	provider := Provider{
		Name: "keycloak", Issuer: "https://id.example.com", ClientID: "muster", SealedSecret: []byte{1, 255},
		Audiences: []string{"a", "b"}, Scopes: []string{"email", "openid"}, GroupClaim: "groups",
		GroupMap: []GroupMapping{{"/devs", "team"}}, Keys: `{"keys":[]}`, SignIn: true, Create: true,
		Domains: []string{"example.com"}, AllowedGroups: []string{"/devs"}, Created: t0,
	}
	signIn := SignIn{"signin-1", "ada", "aws-cli", SignInSSO, t0, t0 + minute, t0 + day, t0 + 2*day, 2, t0 + minute,
		[]byte{9, 8}, "GameDev", "192.0.2.1"}
	view := View{"ada", "busy fleets", "/console/fleets?sort=players"}
	content := BuildContent{"5feceb66", 12, 9000, "the archive has no files"}
	build := Build{"build-1", "arena", "1.2", "AMAZON_LINUX_2023", "5.4.0", BuildFailed, t0,
		BuildSource{"games", "arena.zip", "arn:aws:iam::111122223333:role/builds"}, "6b86b273", 4000, content}
	bucket := Bucket{"games", t0}
	object := Object{"games", "arena.zip", "6b86b273", 4000, "d41d8cd9", "application/zip", t0,
		[]ObjectText{{"CRC32", "AAAAAA=="}}, []ObjectText{{"branch", "main"}}}
	hash := bytes.Repeat([]byte{5}, 32)
	token := MachineToken{MachineTokenID(hash), hash, "custom-office", t0, t0 + day}
	machine := Machine{"box-1", "custom-office", bytes.Repeat([]byte{6}, 32), MachineOffer{1500, 2048, "192.0.2.7",
		"box-1.example.com", 20000, 29999, "v1.2.3", "linux", "arm64", "/srv/i"}, true, t0, 3}
	version := BuildVersion{"main", "build-2", BuildFiles{"d4735e3a", "4e07408", 4001, "WINDOWS_2022", "5.4.0"}, t0}
	managed := &Managed{"build-1", BuildFiles{"6b86b273", "5feceb66", 4000, "WINDOWS_2022", "5.4.0"}, "c5.large",
		"SPOT", []PortRange{{7000, 7100, "0.0.0.0/0", "UDP"}}, "GENERATED", "arn:aws:iam::111122223333:role/games",
		"SHARED", "us-west-2", stepBuilding, t0, true, "/local/game/server", "-port 7777",
		[]BuildVersion{version}}
	shortage := Shortage{2, "No machine has room", t0}
	report := InstanceReport{StageFailed, true, "FLEET_ACTIVATION_FAILED", "five crashes in a row", "build-0"}
	instance := Instance{"i-0123456789abcdef0", "fleet-1", "us-west-2", "box-1", "build-1", InstanceActive, t0,
		t0 + day, "d4735e3a", report}
	rule := ScalingRule{"PercentIdleInstances", 20.5, "GreaterThanThreshold", 20.5, 15, "PercentChangeInCapacity", -10}
	return []any{
		&LocationCreated{"custom-office", t0},
		&LocationDeleted{"custom-office"},
		&FleetCreated{"fleet-1", t0, []string{"custom-cellar", "custom-office"}, runtime, attributes},
		&FleetAttributesUpdated{"fleet-1", attributes},
		&RuntimeConfigurationUpdated{"fleet-1", runtime},
		&FleetDeletionStarted{"fleet-1"},
		&FleetTerminated{"fleet-1", t0},
		&FleetForgotten{"fleet-1"},
		&FleetEventRecorded{logLine},
		&FleetEventsExpired{"fleet-1", 300},
		&FleetLocationsAdded{"fleet-1", []string{"custom-cellar", "custom-office"}},
		&FleetLocationRemovalStarted{"fleet-1", "custom-office"},
		&FleetLocationRemoved{"fleet-1", "custom-office"},
		&ComputeClaimed{"fleet-1", "host/1", "custom-office"},
		&ComputeReleased{"fleet-1", "host/1"},
		&AliasCreated{"alias-1", "live", "what players see", routing, t0},
		&AliasUpdated{"alias-1", "live", "what players see", routing, t0},
		&AliasDeleted{"alias-1"},
		&ResourceTagged{"fleet/fleet-1", tags},
		&ResourceUntagged{"fleet/fleet-1", []string{"stage", "team"}},
		&put,
		&AccessKeyDeleted{"AKIAEXAMPLE"},
		&AccessKeyUpdated{"AKIAEXAMPLE", true, t0 + day},
		&AccessSettingsPut{settings},
		&SealedAgain{"AKIAEXAMPLE", "keycloak", []byte{5, 6}}, // both at once, too
		&CreationClaimed{"fleet-1", "ada", t0},
		&CreationReleased{"fleet-1", "ada", t0},
		&CreationsExpired{"fleet-1", "ada", t0},
		&ViewPut{view},
		&ViewDeleted{"ada", "busy fleets"},
		&SignInStarted{signIn},
		&SignInRotated{"signin-1", 2, t0, t0 + day},
		&SignInEnded{"signin-1", "ada", ReplayReason},
		&SignInTouched{"signin-1", t0, t0 + day},
		&Location{"custom-office", t0},
		&Fleet{"fleet-1", StatusTerminated, t0, t0 + day, runtime, managed, attributes},
		&FleetLocation{"fleet-1", "custom-office", StatusDeleting, Capacity{1, 5, 3}, true, 30,
			shortage},
		&logLine,
		&ComputeClaim{"fleet-1", "host/1", "custom-office"},
		&Alias{"alias-1", "live", "what players see", routing, t0, t0 + day, weights},
		&ResourceTags{"fleet/fleet-1", tags},
		&key,
		&CreatorWindow{"fleet-1", "ada", []event.Time{t0, t0, t0 + 1}},
		&settings,
		&QueueCreated{queue},
		&QueueUpdated{queue},
		&QueueDeleted{"harbor"},
		&MatchmakingConfigurationCreated{configuration},
		&MatchmakingConfigurationUpdated{configuration},
		&MatchmakingConfigurationDeleted{"ladder"},
		&RuleSetCreated{ruleSet},
		&RuleSetDeleted{"duel"},
		&UserPut{user},
		&UserDisabledSet{"ada", true, t0},
		&PasswordSet{"ada", user.Password, t0},
		&ExternalGroupsSet{"ada", []string{"staff"}},
		&UserDeleted{"ada"},
		&GroupPut{group},
		&GroupDeleted{"team"},
		&queue,
		&configuration,
		&ruleSet,
		&user,
		&group,
		&role,
		&assignment,
		&policy,
		&provider,
		&signIn,
		&RolePut{role},
		&RoleDeleted{"GameDev"},
		&AssignmentPut{assignment},
		&AssignmentDeleted{"GameDev", "@team"},
		&PolicyPut{policy},
		&PolicyDeleted{"Fleets"},
		&ProviderPut{provider},
		&ProviderDeleted{"keycloak"},
		&view,
		&BuildCreated{build},
		&BuildUpdated{"build-1", "arena", "1.2"},
		&BuildFinished{"build-1", BuildFailed, content},
		&BuildDeleted{"build-1"},
		&BucketCreated{bucket},
		&BucketDeleted{"games"},
		&ObjectPut{object},
		&ObjectDeleted{"games", "arena.zip"},
		&build,
		&bucket,
		&object,
		&MachineTokenPut{token},
		&MachineTokenDeleted{token.ID},
		&MachinePut{machine, token.ID},
		&MachineDrainSet{"box-1", true, 3},
		&MachineDeleted{"box-1"},
		&machine,
		&token,
		&ManagedFleetCreated{"fleet-1", t0, []string{"us-west-2", "custom-office"}, runtime, managed, attributes},
		&ManagedLocationsAdded{"fleet-1", []string{"custom-cellar", "custom-office"}},
		&FleetAdvanced{"fleet-1", StatusBuilding, stepBuilding, t0},
		&FleetLocationAdvanced{"fleet-1", "custom-office", StatusBuilding},
		&InstanceCreated{instance},
		&InstanceReported{instance.ID, report},
		&InstanceStatusSet{instance.ID, InstanceTerminating, t0},
		&InstanceDropped{instance.ID},
		&InstanceLogPut{instance.ID, "d4735e3a"},
		&instance,
		&CapacitySet{"fleet-1", "custom-office", Capacity{1, 5, 3}, 30},
		&ScalingStopped{"fleet-1", "custom-office", true},
		&ScalingPolicyPut{"fleet-1", "less when idle", rule},
		&ScalingPolicyDeleted{"fleet-1", "less when idle"},
		&ScalingPolicyActed{"fleet-1", "less when idle", "custom-office", t0},
		&PortsUpdated{"fleet-1", managed.Ports},
		&ScalingPolicy{"fleet-1", "less when idle", []ScalingAct{{"custom-office", t0}}, rule},
		&FleetBuildSet{"fleet-1", "build-1", managed.Files, true},
		&AliasWeightsSet{"alias-1", weights, t0},
		&ShortageSet{"fleet-1", "custom-office", shortage, t0 + day},
		&AnnouncementsTrimmed{7},
		&Announced{8},
		&Announcement{8, t0 + day, "fleet-1", "custom-office", 5, shortage},
		&BuildVersionPut{"fleet-1", version},
		&BuildVersionDeleted{"fleet-1", "main"},
	}
}

// TestGolden holds the bytes of every type: a file has the encoded fact in
// hexadecimal and, for people, its body as JSON.
func TestGolden(t *testing.T) {
	bodies := examples()
	if len(bodies) != len(Events) {
		t.Fatalf("%d examples for %d types", len(bodies), len(Events))
	}
	for i, entry := range Events {
		body := bodies[i]
		name := fmt.Sprintf("%02d-%s", entry.Number, types.Name(entry.Type))
		t.Run(name, func(t *testing.T) {
			if reflect.TypeOf(body) != reflect.TypeOf(entry.Type) {
				t.Fatalf("the example is a %T", body)
			}
			wantFull(t, reflect.ValueOf(body).Elem(), name)
			text, encoded := golden(t, body)
			path := filepath.Join("testdata", "events", name+".golden")
			eventtest.Golden(t, path, text)
			f, rest, err := types.Next(encoded)
			if err != nil || len(rest) != 0 || !reflect.DeepEqual(f.Body, body) {
				t.Errorf("read back as %+v, rest %x, %v", f.Body, rest, err)
			}
		})
	}
}

// golden returns what a golden file holds, and the encoded fact alone.
func golden(t *testing.T, body any) (text string, encoded []byte) {
	t.Helper()
	var buf bytes.Buffer
	if err := types.Append(&buf, event.Fact{Body: body}); err != nil {
		t.Fatal(err)
	}
	readable, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x\n%s\n", buf.Bytes(), readable), buf.Bytes()
}

// TestCodec holds the bytes of all types to those of the library.
func TestCodec(t *testing.T) {
	format := eventtest.Format{Entries: slices.Concat(Events, Commands), Words: []string{"TERMINATED"}}
	format.TestCodec(t)
}

// wantFull fails for an example that leaves a field out: its number would not
// be guarded.
func wantFull(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			t.Errorf("%s is nil", path)
			return
		}
		wantFull(t, v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			wantFull(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	default:
		if v.IsZero() {
			t.Errorf("%s is not set", path)
		}
	}
}

// Events of older and newer releases have fewer and more fields.
func TestFieldsMayBeMissingOrUnknown(t *testing.T) {
	for _, data := range []string{"830500a0", "830500a2016766" + "6c6565742d31" + "1863" + "01"} {
		encoded, err := hex.DecodeString(data)
		if err != nil {
			t.Fatal(err)
		}
		f, _, err := types.Next(encoded)
		if err != nil {
			t.Fatal(err)
		}
		s := New(DefaultLimits())
		s.Apply(f.Body.(Event))
		checkDerived(t, s)
	}
}

func TestGoldenHasNoStrayFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "events", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(Events) {
		t.Errorf("%d golden files for %d types", len(files), len(Events))
	}
}
