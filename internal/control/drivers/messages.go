package drivers

import (
	"encoding/json"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking/matchdriver"
	"github.com/muster-gg/muster/internal/processes"
)

// A message is an update of a backfill ticket, for the node to which its process is connected.
type message struct {
	Location string                          `json:"location"`
	Fleet    fleet.ID                        `json:"fleet"`
	Compute  string                          `json:"compute"`
	Process  string                          `json:"process"`
	Update   processes.UpdateGameSessionPush `json:"update"`
}

// Receive receives a message of another node.
func (d *Drivers) Receive(data []byte) {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		d.cfg.Log.Warn("malformed message of another node", "err", err)
		return
	}
	d.cfg.Processes.Push(processes.Key{
		Room:    fleet.RoomID{Fleet: m.Fleet, Location: m.Location},
		Process: fleet.ProcessKey{Compute: m.Compute, ID: m.Process},
	}, m.Update)
}

// tellNodes sends the other nodes an update, for the one to which the process is connected.
func (d *Drivers) tellNodes(host processes.Key, update processes.UpdateGameSessionPush) {
	if d.cfg.Cluster == nil {
		return
	}
	data, err := json.Marshal(message{
		Fleet: host.Room.Fleet, Location: host.Room.Location,
		Compute: host.Process.Compute, Process: host.Process.ID, Update: update,
	})
	if err != nil {
		d.cfg.Log.Error("update not encoded", "err", err)
		return
	}
	d.cfg.Cluster.Tell(data)
}

// notify sends the process of a game session what has become of its backfill ticket.
func (d *Drivers) notify(n *matchdriver.Notice) {
	host := processes.Key{Room: n.Room, Process: n.GameSession.Host}
	if update, here := d.cfg.Processes.Update(host, n.GameSession, n.Ticket, n.Reason); !here {
		d.tellNodes(host, update)
	}
}
