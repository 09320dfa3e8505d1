package main

import (
	"context"

	"github.com/muster-gg/muster/gamenet"
)

// echo is the game: it sends back what a player says.
type echo struct{}

func (echo) OnConnected(*gamenet.Session) {}

func (echo) OnPacket(s *gamenet.Session, p gamenet.Packet) { _ = s.Send(p) } // or the session ends

func (echo) OnDisconnected(*gamenet.Session, error) {}

// A player says hello and keeps the answer.
type player struct {
	answer chan string
	ended  chan error
}

func (p player) OnConnected(s *gamenet.Session) {
	_ = s.Send(gamenet.Packet{ID: 1, Payload: []byte("hello")}) // or the session ends
}

func (p player) OnPacket(_ *gamenet.Session, packet gamenet.Packet) {
	select {
	case p.answer <- string(packet.Payload):
	default: // one is enough
	}
}

func (p player) OnDisconnected(_ *gamenet.Session, cause error) { p.ended <- cause }

// hello says hello at an address and returns the answer.
func hello(ctx context.Context, address string) (string, error) {
	p := player{make(chan string, 1), make(chan error, 1)}
	client, err := gamenet.NewClient(gamenet.ClientConfig{Config: gamenet.Config{
		Address: address, NewHandler: func(*gamenet.Session) gamenet.Handler { return p },
	}})
	if err != nil {
		return "", err
	}
	if err := client.Start(ctx); err != nil {
		return "", err
	}
	defer func() { _ = client.Close(context.WithoutCancel(ctx)) }()
	select {
	case answer := <-p.answer:
		return answer, nil
	case cause := <-p.ended:
		return "", cause
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
