package region

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// BenchmarkCodec takes a command and its answer through their bytes, both ways, as a
// command that is for another node is: encoded and decoded twice in all. The same
// structures by encoding/json stand beside it.
func BenchmarkCodec(b *testing.B) {
	process := fleet.ProcessKey{Compute: "host-1", ID: "process-000000000001"}
	const session = "session-000000000001"
	game := &fleet.GameSession{
		Ordinal: 100_000, ID: session, Name: "arena", CreatorID: "creator", Data: "map=harbor", Maximum: 50,
		Policy: fleet.AcceptAll,
		Status: fleet.Active, Created: event.At(start), Host: process, IPAddress: "203.0.113.7",
		DNSName: "host-1.example.com", Port: 7777,
		Fingerprint: make([]byte, 32), Properties: []fleet.Property{{Key: "map", Value: "harbor"},
			{Key: "mode", Value: "duel"}},
	}
	create := fleet.CreateGameSession{
		ID: session, Name: game.Name, CreatorID: game.CreatorID, Data: game.Data, Properties: game.Properties,
		Maximum:     50,
		Fingerprint: game.Fingerprint, ActivationTimeout: time.Minute, MaxActivations: 100,
	}
	for _, call := range []struct {
		name   string
		asked  fleet.Command
		answer any
		err    error
	}{
		{"ReservePlayers/25", reserve(session, 25), reservation(game, 25), nil},
		{"ReservePlayers/1", reserve(session, 1), reservation(game, 1), nil},
		{"ReservePlayers/full", reserve(session, 1), nil,
			fault.New(fault.GameSessionFull, "Game session %s has 0 free player slots of 50; 1 were asked for",
				session)},
		{"CreateGameSession", create, game, nil},
		{"ActivateGameSession", fleet.ActivateGameSession{ProcessKey: process, GameSession: session}, game, nil},
		{"AcceptPlayer", fleet.AcceptPlayer{ProcessKey: process, GameSession: session,
			PlayerSession: fleet.PlayerSessionID{1, 2, 3}}, nil, nil},
		{"ReportHealth", fleet.ReportHealth{ProcessKey: process, Healthy: true}, nil, nil},
		{"EndProcess", fleet.EndProcess{ProcessKey: process}, nil, nil}, // by the library
	} {
		c := RoomCommand{Room: fleet.RoomID{Fleet: "fleet-11111111-2222-3333-4444-555555555555",
			Location: "custom-home"},
			Command: call.asked}
		b.Run(call.name+"/codec", func(b *testing.B) { benchmarkBytes(b, c, call.answer, call.err) })
		b.Run(call.name+"/json", func(b *testing.B) { benchmarkJSON(b, c, call.answer) })
	}
}

func reserve(session string, n int) fleet.ReservePlayers {
	c := fleet.ReservePlayers{GameSession: session, Players: make([]fleet.NewPlayer, n)}
	for i := range c.Players {
		c.Players[i] = fleet.NewPlayer{PlayerID: fmt.Sprintf("player-%012d", i), Random: [8]byte{1, 2, 3}}
	}
	return c
}

func reservation(g *fleet.GameSession, n int) fleet.Reservation {
	r := fleet.Reservation{GameSession: g}
	for i := range n {
		r.Players = append(r.Players, &fleet.PlayerSession{
			ID: fleet.PlayerSessionID{1, 2, 3}, Index: uint32(i), PlayerID: fmt.Sprintf("player-%012d", i),
			Status:  fleet.Reserved,
			Created: event.At(start), Expires: event.At(start.Add(time.Minute)),
		})
	}
	return r
}

func benchmarkBytes(b *testing.B, c Command, answer any, refused error) {
	b.ReportAllocs()
	var buf []byte
	sent := 0
	for b.Loop() {
		var err error
		if buf, err = AppendCommand(buf[:0], c); err != nil {
			b.Fatal(err)
		}
		if _, err = DecodeCommand(buf); err != nil {
			b.Fatal(err)
		}
		sent = len(buf)
		if buf, err = AppendAnswer(buf[:0], answer, refused); err != nil {
			b.Fatal(err)
		}
		if _, _, err = DecodeAnswer(buf); err != nil {
			b.Fatal(err)
		}
		sent += len(buf)
	}
	b.ReportMetric(float64(sent), "bytes/call")
}

func benchmarkJSON(b *testing.B, c RoomCommand, answer any) {
	b.ReportAllocs()
	sent := 0
	for b.Loop() {
		sent = 0
		for _, v := range []any{c.Room, c.Command, answer} {
			if v == nil {
				continue
			}
			data, err := json.Marshal(v)
			if err != nil {
				b.Fatal(err)
			}
			if err := json.Unmarshal(data, reflect.New(reflect.TypeOf(v)).Interface()); err != nil {
				b.Fatal(err)
			}
			sent += len(data)
		}
	}
	b.ReportMetric(float64(sent), "bytes/call")
}
