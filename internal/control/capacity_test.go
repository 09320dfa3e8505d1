package control

import (
	"slices"
	"testing"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
)

// TestCounts compares the numbers of all rooms, of one shard, and of the region, with a game session that is being
// activated at the limit of its compute.
func TestCounts(t *testing.T) {
	w := newWorld(t, withShards(2))
	w.must("CreateLocation", object{"LocationName": "custom-b"})
	id, sockets := w.host(3)
	other := w.fleetAt("custom-b")
	w.must("UpdateRuntimeConfiguration", object{"FleetId": id, "RuntimeConfiguration": object{
		"MaxConcurrentGameSessionActivations": 2,
	}})
	w.create(id, nil)
	here := w.room(id, "custom-a")
	want := fleet.Counts{
		Computes: 1, Processes: 3, Idle: 2, Activating: 1, MaximumPlayers: 2, BusyComputes: 1, Healthy: 3, Waiting: 2,
	}
	rooms, err := w.Plane.CountsByRoom(w.ctx)
	if err != nil || rooms[here] != want {
		t.Errorf("the room has %+v, %v, want %+v", rooms[here], err, want)
	}
	sum, err := w.Plane.Counts(w.ctx)
	if err != nil || sum != want {
		t.Errorf("the region has %+v, %v, want %+v", sum, err, want)
	}
	want.Activatable = 1 // of two idle processes, because one game session is in ACTIVATING
	shard := region.ShardOf(here, 2)
	for i := range 2 {
		rooms, err := w.Plane.CountsOfShard(w.ctx, i)
		if got := rooms[here]; err != nil || (i == shard) != (got == want) {
			t.Errorf("shard %d has %+v, %v, want %+v on shard %d", i, got, err, want, shard)
		}
	}
	all := w.must("DescribeFleetUtilization", object{})["FleetUtilization"].([]any)
	ids := texts(all, "FleetId")
	if slices.Sort(ids); len(ids) != 2 || !slices.Contains(ids, other) {
		t.Errorf("utilization of %v, want of both fleets", ids)
	}
	sockets[2].Disconnected()
	w.await("the process is not connected", func() bool {
		rooms, err := w.Plane.CountsByRoom(w.ctx)
		return err == nil && rooms[here].Healthy == 2 && rooms[here].Processes == 3
	})
}
