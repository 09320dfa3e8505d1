package gamenet_test

import (
	"context"
	"fmt"

	"github.com/muster-gg/muster/gamenet"
)

// talker says something when it is connected and leaves when it has heard an answer.
type talker struct {
	text string
	over chan struct{}
}

func (t *talker) OnConnected(s *gamenet.Session) {
	if err := s.Send(gamenet.Packet{ID: 1, Payload: []byte(t.text)}); err != nil {
		fmt.Println(err)
	}
}

func (t *talker) OnPacket(s *gamenet.Session, p gamenet.Packet) {
	fmt.Printf("packet %d: %s\n", p.ID, p.Payload)
	s.Disconnect(gamenet.Reason{Text: "seen enough"})
}

func (t *talker) OnDisconnected(_ *gamenet.Session, cause error) {
	fmt.Println(cause)
	close(t.over)
}

func ExampleClientService() {
	ctx, stop := context.WithCancel(context.Background())
	err := serve(ctx, "127.0.0.1:0", func(server *gamenet.ServerService) {
		defer stop()
		t := &talker{"good evening", make(chan struct{})}
		client, err := gamenet.NewClient(gamenet.ClientConfig{Config: gamenet.Config{
			Address:    server.Addr().String(),
			NewHandler: func(*gamenet.Session) gamenet.Handler { return t },
		}})
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := client.Start(ctx); err != nil {
			fmt.Println(err)
			return
		}
		<-t.over
		if err := client.Close(ctx); err != nil {
			fmt.Println(err)
		}
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// packet 1: good evening
	// gamenet: disconnected: "seen enough"
}
