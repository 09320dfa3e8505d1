package main

import (
	"fmt"

	"github.com/muster-gg/muster/e2e/netbench/result"
	"github.com/muster-gg/muster/e2e/netbench/server"
)

// subject is the server whose goals these are.
const subject = "gamenet"

// A work is what is measured with every server.
type work struct {
	part        string // that -only names
	name        string // in the table
	server      server.Work
	load        string // the work of the load
	connections int
	inFlight    int
	info        []string // servers beside the peers, which no goal is about
	goals       []result.Goal
}

// idleConnections is as many as the load's open files allow, and more.
const idleConnections = 10_000

var (
	asFast    = []result.Goal{{Figure: result.Rate, Least: 1}}
	noGarbage = result.Goal{Figure: result.Allocations, What: "allocations", Unit: hundredths}
	roomGoals = []result.Goal{{Figure: result.PerCPU, What: "by CPU", Peer: "net", Least: 3},
		{Figure: result.PerCPU, What: "by CPU", Least: 1.5}}
	memoryGoal = []result.Goal{{Figure: result.Resident, Most: 8 << 10, Unit: kibibytes}}
)

// works are the measurements in their order.
var works = []work{
	{part: "echo", name: "echo, 100 connections", server: server.Echo, load: "echo", connections: 100, inFlight: 1,
		goals: append(asFast, noGarbage)},
	{part: "echo", name: "echo, 1,000 connections", server: server.Echo, load: "echo", connections: 1000, inFlight: 1,
		goals: append(asFast, noGarbage)},
	{part: "echo", name: "echo, 100 connections, 16 packets in flight", server: server.Echo, load: "echo",
		connections: 100, inFlight: 16, goals: append(asFast, noGarbage)},
	{part: "room", name: "50 rooms × 20 players, 30 ticks/s", server: server.Rooms, load: "rooms",
		info: []string{"netpoll, flush/message"}, goals: roomGoals},
	{part: "room", name: "50 rooms × 20 players, as fast as it goes", server: server.RoomsFast, load: "rooms-fast",
		info: []string{"netpoll, flush/message"}, goals: roomGoals},
	{part: memoryPart, name: "10,000 idle connections", server: server.Echo, load: "idle", connections: idleConnections,
		goals: memoryGoal},
}

// memoryPart is the part whose measurements are of memory.
const memoryPart = "memory"

// peers are the servers that the subject is compared with, of this program.
var peers = []string{"net", "netpoll"}

// hundredths shows a small number.
func hundredths(x float64) string { return fmt.Sprintf("%.2f", x) }

// kibibytes shows bytes.
func kibibytes(x float64) string { return fmt.Sprintf("%.1f KiB", x/1024) }
