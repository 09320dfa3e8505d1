package control

import (
	"fmt"
	"testing"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/catalog"
)

// TestDeployment makes the calls of a deployment script, in their order, while game sessions are created by the alias:
// none fails, and those after UpdateAlias are in the new fleet.
func TestDeployment(t *testing.T) {
	w := newWorld(t, withObjects(t), withFleet(manyProcesses))
	build, data := w.readyBuild(t)
	old := w.managedFleet(build, nil)
	servers := w.serveFleet("box-1", 1, 50)
	alias := text(w.must("CreateAlias", object{"Name": "live", "RoutingStrategy": object{"Type": "SIMPLE",
		"FleetId": old}}), "Alias", "AliasId")
	w.await("the first fleet is ACTIVE", func() bool { return w.fleetStatus(old) == "ACTIVE" })
	created := map[string]int{}
	create := func() {
		t.Helper()
		session := w.must("CreateGameSession", object{"AliasId": alias, "MaximumPlayerSessionCount": 2})
		created[text(session, "GameSession", "FleetId")]++
	}

	create()
	attributes := w.must("DescribeFleetAttributes", object{"FleetIds": []string{old}})
	w.must("DescribeAlias", object{"AliasId": alias})
	w.change(catalog.CreateBucket{Name: "games"})
	if err := w.put("games", "arena.zip", data); err != nil {
		t.Fatal(err)
	}
	made := w.must("CreateBuild", object{"Name": "arena", "OperatingSystem": "AMAZON_LINUX_2023",
		"StorageLocation": object{"Bucket": "games", "Key": "arena.zip",
			"RoleArn": "arn:aws:iam::111122223333:role/b"}})
	next := text(made, "Build", "BuildId")
	w.await("the build is READY", func() bool {
		create()
		return text(w.must("DescribeBuild", object{"BuildId": next}), "Build", "Status") == "READY"
	})
	fleet := w.managedFleet(next, object{"EC2InstanceType": at(attributes, "FleetAttributes", 0, "InstanceType")})
	w.serveFleet("box-2", 2, 20)
	w.await("the new fleet is ACTIVE", func() bool {
		locations := w.must("DescribeFleetLocationAttributes", object{"FleetId": fleet})
		return w.fleetStatus(fleet) == "ACTIVE" &&
			text(locations, "LocationAttributes", 0, "LocationState", "Status") == "ACTIVE"
	})
	create()
	before := created[old]
	w.must("UpdateAlias", object{"AliasId": alias, "RoutingStrategy": object{"Type": "SIMPLE", "FleetId": fleet}})
	for range 20 {
		create()
	}
	if created[old] != before || created[fleet] != 20 {
		t.Errorf("created %v; before UpdateAlias %d", created, before)
	}
	for _, s := range servers {
		s.ok(s.end())
	}
	w.await("the old fleet has no game session", func() bool {
		sessions, _ := at(w.must("DescribeGameSessions", object{"FleetId": old, "StatusFilter": "ACTIVATING"}),
			"GameSessions").([]any)
		return len(sessions) == 0
	})
	w.must("DeleteFleet", object{"FleetId": old})
	if got := w.fleetStatus(old); got != "DELETING" {
		t.Errorf("the old fleet is %s", got)
	}
}

// serveFleet joins a machine, which gets an instance with n server processes.
func (w *world) serveFleet(box string, key byte, n int) (servers []*socket) {
	w.t.Helper()
	b := w.box(box, key)
	in := b.instance()
	b.stage(in.ID, protocol.Running)
	for i := range n {
		servers = append(servers, b.serve(in, fmt.Sprint(box, "-", i)))
	}
	return servers
}
