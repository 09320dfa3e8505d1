package gamenet_test

import (
	"context"
	"fmt"
	"time"

	"github.com/muster-gg/muster/gamenet"
)

// A room belongs to its executor: many players use it at the same time, and it
// has no lock.
type room struct {
	jobs  *gamenet.Executor
	score map[string]int
}

// hit may be called by any goroutine, an OnPacket for one.
func (r *room) hit(player string) error {
	return r.jobs.Post(func() { r.score[player]++ })
}

func Example_executor() {
	r := &room{jobs: gamenet.NewExecutor(gamenet.ExecutorConfig{}), score: map[string]int{}}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for range 100 {
			_ = r.hit("ada")
		}
	}()
	for range 50 {
		_ = r.hit("bob")
	}
	<-over

	_ = r.jobs.Close(context.Background()) // the hits before have run when it returns
	fmt.Println(r.score)
	// Output: map[ada:100 bob:50]
}

func ExampleExecutor_Every() {
	jobs := gamenet.NewExecutor(gamenet.ExecutorConfig{})
	finished := make(chan struct{})
	ticks := 0
	var tick *gamenet.Timer
	_ = jobs.Post(func() { // in a job, so that no tick comes before tick is set
		tick = jobs.Every(time.Millisecond, func() {
			if ticks++; ticks == 3 {
				tick.Stop()
				close(finished)
			}
		})
	})
	<-finished
	_ = jobs.Close(context.Background())
	fmt.Println(ticks, "ticks")
	// Output: 3 ticks
}
