package gamenet_test

import (
	"context"
	"fmt"

	"github.com/muster-gg/muster/gamenet"
)

// A tick tells a room where everybody is and what was said, in one frame: each
// session writes the same bytes, and nothing is copied for it.
func tick(server *gamenet.ServerService, room *gamenet.Group, places []byte, said []string) error {
	frame := server.NewFrame()
	defer frame.Release() // the sessions have references of their own
	if err := frame.Append(gamenet.Packet{ID: 21, Payload: places}); err != nil {
		return err
	}
	for _, text := range said {
		if err := frame.Append(gamenet.Packet{ID: 20, Payload: []byte(text)}); err != nil {
			return err
		}
	}
	fmt.Println(frame.Len(), "bytes with their headers of 4")
	return room.BroadcastFrame(frame)
}

func ExampleFrame() {
	ctx, stop := context.WithCancel(context.Background())
	err := serve(ctx, "127.0.0.1:0", func(server *gamenet.ServerService) {
		defer stop()
		if err := tick(server, new(gamenet.Group), make([]byte, 48), []string{"hello", "hi"}); err != nil {
			fmt.Println(err)
		}
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: 67 bytes with their headers of 4
}
