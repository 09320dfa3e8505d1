package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go"

	"github.com/muster-gg/muster/internal/boottime"
)

// Config says who a node is and what it shares. Node, Shards, Conn, Serve and
// Barrier are required; every other zero value means the default.
type Config struct {
	Node   string // its name in the cluster: letters, digits, - and _, at most 64
	Shards int    // the same for all nodes
	Level  int    // the highest feature level that this node reads, which the others see in Member; may be 0

	Conn     *nats.Conn
	Name     string // of the cluster: bucket and subjects begin with it. Default "muster"
	Replicas int    // of the bucket, when it is made. Default 1

	// Lease is after how long without a sign of life a node's shards go to others. Default 3 s.
	// A node holds its shards for five sixths of that from its last sign of life.
	Lease time.Duration
	// Renew is the time between two signs of life. Default a third of Lease.
	Renew time.Duration
	// Linger is how long a tenure goes on while the bucket is away, without holding. Default three times Lease.
	Linger time.Duration
	// Moves is how many shards a node gives away at a time. Default 2.
	Moves int
	// Patience is how long a command or a barrier waits for an owner, and an owner that
	// still seems to be there is not heard before a link to it is given up. Default 10 s.
	Patience time.Duration
	// Waiting is how many commands of one shard may wait for an owner. Default 8192.
	Waiting int

	Clock clockwork.Clock

	// Elapsed is the clock of leases: the time since some moment. It must not be set, nor stand
	// still while the machine is suspended. Nil: package boottime.
	Elapsed func() time.Duration

	Log *slog.Logger // nil: silent

	// Serve handles a command that another node sent, while this one owns the shard. It must
	// not block; done is called exactly once, in any goroutine. An error says that the command was not
	// carried out and will not be: then it is sent again to whoever owns the shard
	// next. Every other outcome is an answer. cmd is Serve's to keep.
	//
	// Commands of one sender come in the order in which he sent them. When one is refused with an
	// error, those must be, too, that were served after it in the same tenure.
	Serve func(shard int, cmd []byte, done func(answer []byte, err error))

	// Barrier answers with a record's number: everything that the shard had handled
	// before the call is durable up to there. It is under the same rules; it must
	// give an error when the tenure does not hold at the end.
	Barrier func(shard int, done func(seq uint64, err error))
}

// NameForm is the form of the names of nodes and clusters: they stand in subjects and keys.
var NameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (c *Config) complete() error {
	orDefault(&c.Name, "muster")
	switch {
	case !NameForm.MatchString(c.Node):
		return fmt.Errorf("the name of the node is %q: it must have 1 to 64 letters, digits, - and _", c.Node)
	case !NameForm.MatchString(c.Name):
		return fmt.Errorf("the name of the cluster is %q: it must have 1 to 64 letters, digits, - and _", c.Name)
	case c.Shards < 1 || c.Conn == nil || c.Serve == nil || c.Barrier == nil:
		return errors.New("cluster: Shards, Conn, Serve and Barrier are required")
	}
	orDefault(&c.Replicas, 1)
	orDefault(&c.Lease, 3*time.Second)
	orDefault(&c.Renew, c.Lease/3)
	orDefault(&c.Linger, 3*c.Lease)
	orDefault(&c.Moves, 2)
	orDefault(&c.Patience, 10*time.Second)
	orDefault(&c.Waiting, 8192)
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	if c.Elapsed == nil {
		c.Elapsed = boottime.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Renew > c.Lease/2 {
		return fmt.Errorf("cluster: signs of life every %v are too few for a lease of %v", c.Renew, c.Lease)
	}
	return nil
}

// writing is how long a lease may take to be written. The store's leader may be lost, and
// then nobody answers; his successor is to be asked soon.
func (c *Config) writing() time.Duration { return c.Renew / 2 }

func orDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}
