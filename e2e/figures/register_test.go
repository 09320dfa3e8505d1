package figures

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
)

// A register is the machine of one shard, filled by commands without a shard
// around it. That is how a million game sessions come about in seconds.
type register struct {
	tb      testing.TB
	room    fleet.RoomID
	shard   int
	machine *region.Machine
	hosted  int // game sessions, so far
	joined  uint64
	record  func([]event.Fact) // is told of what was decided; may be nil
}

func newRegister(tb testing.TB, room fleet.RoomID) *register {
	settings := patient()
	settings.Fleet.Region = testRegion
	n := region.ShardOf(room, shards)
	return &register{tb: tb, room: room, shard: n, machine: region.New(n, &settings)}
}

// do has the room carry out a command.
func (r *register) do(c fleet.Command) any {
	facts, answer, err := r.machine.Handle(time.Now(), region.RoomCommand{Room: r.room, Command: c, Open: true})
	if err != nil {
		r.tb.Fatal(err)
	}
	if r.record != nil {
		r.record(facts)
	}
	return answer
}

// host connects a server process that hosts one game session with so many players.
func (r *register) host(c fleet.CreateGameSession, players int) {
	r.tb.Helper()
	compute := computeName(r.hosted / perCompute)
	if r.hosted%perCompute == 0 {
		r.do(fleet.RegisterCompute{Name: compute, IPAddress: "10.1.2.3"})
	}
	key := fleet.ProcessKey{Compute: compute, ID: fmt.Sprintf("process-%d", r.hosted)}
	r.hosted++
	r.do(fleet.ConnectProcess{ProcessKey: key, Idempotency: key.ID, SDKVersion: "5.4.0", SDKLanguage: "Go"})
	r.do(fleet.ReadyProcess{ProcessKey: key, Port: 7777})
	c.ActivationTimeout, c.MaxActivations = time.Minute, math.MaxInt32
	r.do(c)
	r.do(fleet.ActivateGameSession{ProcessKey: key, GameSession: c.ID})
	if players > 0 {
		r.do(r.reservation(c.ID, players))
	}
}

func (r *register) reservation(session string, n int) fleet.ReservePlayers {
	c := fleet.ReservePlayers{GameSession: session, Players: make([]fleet.NewPlayer, n)}
	for i := range c.Players {
		r.joined++
		c.Players[i].PlayerID = playerID(r.joined)
		binary.BigEndian.PutUint64(c.Players[i].Random[:], r.joined)
	}
	return c
}

// save writes the machine's snapshot into a data directory in which the shard
// has none yet: a shard takes the machine for its own and stops.
func (r *register) save(dir string) {
	r.tb.Helper()
	engine, err := jetstream.Open(r.tb.Context(), jetstream.Config{Dir: filepath.Join(dir, "journal")})
	if err != nil {
		r.tb.Fatal(err)
	}
	defer func() {
		if err := engine.Close(); err != nil {
			r.tb.Error(err)
		}
	}()
	j, err := engine.Journal(r.tb.Context(), r.shard)
	if err != nil {
		r.tb.Fatal(err)
	}
	s := shard.New(shard.Config[region.Command, *region.Machine]{
		Journal: j, Events: region.Events, NewMachine: func() *region.Machine { return r.machine }, FinalSnapshot: true,
	})
	ctx, cancel := context.WithCancel(r.tb.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case <-s.Ready():
		cancel()
		err = <-ended
	case err = <-ended:
		cancel()
	}
	if err != nil {
		r.tb.Fatal(err)
	}
}
