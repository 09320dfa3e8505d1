package signin

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/mustertest"
)

var protocols = []string{jsonProtocol, cborProtocol}

// TestReadOnly: with GameLiftReadOnly all operations that read are allowed, the others are denied in both
// protocols, and nothing changes.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	w := start(t)
	fleet := w.Fleet("custom-here")
	key := w.addKey("viewer", object{"policies": []string{"GameLiftReadOnly"}})
	// With these members many of the operations would change something.
	in := object{"FleetId": fleet, "Name": "new", "LocationName": "custom-new", "ComputeType": "ANYWHERE",
		"NewGameSessionProtectionPolicy": "FullProtection"}
	before := w.everything()
	for _, operation := range wire.Operations {
		reads := slices.ContainsFunc([]string{"List", "Describe", "Search"}, func(verb string) bool {
			return strings.HasPrefix(operation.Name, verb)
		})
		for _, protocol := range protocols {
			r, _ := w.call(key, protocol, operation.Name, in)
			denied := r.kind == "AccessDeniedException"
			if denied == reads || denied && r.status != http.StatusBadRequest {
				t.Errorf("%s, %s: %+v", operation.Name, protocol, r)
			}
		}
	}
	if after := w.everything(); after != before {
		t.Errorf("changed from\n%s\nto\n%s", before, after)
	}
	mustertest.Call(t, w.Client.CreateLocation, &gamelift.CreateLocationInput{LocationName: new("custom-new")})
	if w.everything() == before {
		t.Error("a change is not seen")
	}
}

// everything describes what the service has: its resources, and how much was ever written to the journal.
func (w *world) everything() string {
	w.Helper()
	var all strings.Builder
	for _, operation := range []string{"ListFleets", "DescribeFleetAttributes", "ListLocations", "ListAliases",
		"DescribeGameSessionQueues", "DescribeMatchmakingConfigurations", "DescribeMatchmakingRuleSets"} {
		r, out := w.call(w.Root, jsonProtocol, operation, object{})
		if r.status != http.StatusOK {
			w.Fatalf("%s: %+v", operation, r)
		}
		all.Write(out)
	}
	for line := range strings.Lines(string(w.send("GET", "/metrics", nil).body)) {
		if strings.HasPrefix(line, "muster_events_total") || strings.HasPrefix(line, "muster_journal_bytes_total") {
			all.WriteString(line)
		}
	}
	return all.String()
}

// TestDeniedAlike: a denial tells neither whether a fleet exists, nor whether the input is valid.
func TestDeniedAlike(t *testing.T) {
	t.Parallel()
	w := start(t)
	mine := w.Fleet("custom-here")
	existing := w.Fleet("custom-there")
	absent := existing[:len(existing)-4] + "0000"
	key := w.addKey("narrow", object{"document": allow(w.fleetARN(mine), "gamelift:*")})
	for _, protocol := range protocols {
		for _, operation := range []string{"DeleteFleet", "UpdateFleetAttributes", "DescribeFleetLocationAttributes",
			"CreateGameSession", "DescribeGameSessions", "GetComputeAuthToken"} {
			answers := map[refusal]bool{}
			for _, id := range []string{existing, absent} {
				for _, in := range []object{{"FleetId": id}, {"FleetId": id, "ComputeName": strings.Repeat("!", 999),
					"MaximumPlayerSessionCount": -1, "Limit": -1}} {
					r, _ := w.call(key, protocol, operation, in)
					r.message = strings.ReplaceAll(r.message, id, "ID")
					answers[r] = true
				}
			}
			for r := range answers {
				if r.kind != "AccessDeniedException" || len(answers) != 1 {
					t.Errorf("%s, %s: %+v", operation, protocol, answers)
				}
			}
			if r, _ := w.call(key, protocol, operation, object{}); r.kind != "AccessDeniedException" {
				t.Errorf("%s, %s without a fleet: %+v", operation, protocol, r)
			}
		}
		if r, _ := w.call(key, protocol, "DescribeFleetLocationAttributes", object{"FleetId": mine}); r.kind != "" {
			t.Errorf("the allowed fleet: %+v", r)
		}
	}
}

// TestBackendKey: the key of a backend may create and see game sessions of one fleet, and
// nothing else. A rotated key stops at once.
func TestBackendKey(t *testing.T) {
	t.Parallel()
	w := start(t)
	fleet := w.Fleet("custom-here")
	other := w.Fleet("custom-there")
	w.Launch(w.Compute(fleet, "custom-here", "pc"), 4000)
	document := allow(w.fleetARN(fleet), "gamelift:CreateGameSession", "gamelift:DescribeGameSessions")
	key := w.addKey("backend-1", object{"document": document})
	create := func(fleet string) error {
		_, err := w.gamelift(key).CreateGameSession(t.Context(), &gamelift.CreateGameSessionInput{FleetId: &fleet,
			Location: new("custom-here"), MaximumPlayerSessionCount: new(int32(2))})
		return err
	}
	if err := create(fleet); err != nil {
		t.Fatal(err)
	}
	mustertest.Call(t, w.gamelift(key).DescribeGameSessions, &gamelift.DescribeGameSessionsInput{FleetId: &fleet})
	const sentence = "User: arn:aws:iam::" + account + ":user/backend-1 is not authorized to perform: "
	if err := create(other); codeOf(err) != "AccessDeniedException" || !strings.Contains(err.Error(), sentence+
		"gamelift:CreateGameSession on resource: "+w.fleetARN(other)+" because no identity-based policy allows the "+
		"gamelift:CreateGameSession action") {
		t.Errorf("another fleet: %v", err)
	}
	for _, protocol := range protocols {
		for _, operation := range wire.Operations {
			if operation.Name == "CreateGameSession" || operation.Name == "DescribeGameSessions" {
				continue
			}
			r, _ := w.call(key, protocol, operation.Name, object{"FleetId": fleet})
			if r.kind != "AccessDeniedException" || !strings.HasPrefix(r.message, sentence) {
				t.Errorf("%s, %s: %+v", operation.Name, protocol, r)
			}
		}
	}
	for _, path := range []string{"backup", "audit", "users", "keys"} {
		if a := w.v1(key, "GET", path, nil); a.status != http.StatusForbidden ||
			!strings.Contains(string(a.body), sentence+"muster:") {
			t.Errorf("/v1/%s: %d %s", path, a.status, a.body)
		}
	}
	if who := w.v1(key, "GET", "whoami", nil).object(t); who["user"] != "backend-1" {
		t.Errorf("whoami: %v", who)
	}

	rotated := keyOf(w.Manage("POST", "keys/"+key.AccessKeyID+"/rotate", nil))
	refused(t, "the old key", create(fleet), "UnrecognizedClientException")
	mustertest.Call(t, w.gamelift(rotated).DescribeGameSessions, &gamelift.DescribeGameSessionsInput{FleetId: &fleet})
	mustertest.Eventually(t, "the denied call is in the audit trail", func() bool {
		records, _ := json.Marshal(w.audit("CreateGameSession"))
		return strings.Contains(string(records), w.fleetARN(other))
	})
}
