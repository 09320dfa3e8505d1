package bot

import (
	"context"
	"math"
	"time"

	"github.com/muster-gg/muster/examples/arena/protocol"
)

// lap is the time that a circle takes.
const lap = 6 * time.Second

// Run walks in a circle, one step a tick, and probes the server once a second, until ctx is done, which gives nil, or
// the connection has ended, which gives the cause. It does not leave.
func (b *Bot) Run(ctx context.Context) error {
	steps := time.NewTicker(time.Second / time.Duration(b.TickRate()))
	defer steps.Stop()
	for step := 0; ; step++ {
		select {
		case <-steps.C:
		case <-ctx.Done():
			return nil
		case <-b.Done():
			return b.Err()
		}
		angle := 2 * math.Pi * float64(step) / (lap.Seconds() * float64(b.TickRate()))
		// A step that cannot be sent is followed by the next, or by the end.
		_ = b.Steer(int8(protocol.MaxInput*math.Cos(angle)), int8(protocol.MaxInput*math.Sin(angle)))
		if step%b.TickRate() == 0 {
			_ = b.probe()
		}
	}
}
