package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go"
)

// Config configures a node. Node, Shards, Conn, Serve and Barrier are required; the zero value of every other field
// means the default.
type Config struct {
	Node   string // its name in the cluster: letters, digits, - and _, at most 64
	Shards int    // the same for all nodes
	Level  int    // the highest feature level that this node reads, which the others see in Member; may be 0

	Conn     *nats.Conn
	Name     string // of the cluster: bucket and subjects begin with it. Default "muster"
	Replicas int    // of the bucket, when it is created. Default 1

	// Lease is the time without a heartbeat after which a node's shards go to others. Default 3 s. A node holds its
	// shards for five sixths of that after its last heartbeat.
	Lease time.Duration
	// Renew is the interval of heartbeats. Default a third of Lease.
	Renew time.Duration
	// Linger is how long a term continues while the bucket is unavailable, without holding. Default three times Lease,
	// and at least Patience: the bucket may be electing a leader.
	Linger time.Duration
	// Moves is how many shards a node transfers at a time. Default 2.
	Moves int
	// Patience is how long a command or a barrier waits for an owner, and how long nothing may be received from an
	// owner before the channel to it is closed. Default 10 s.
	Patience time.Duration
	// Connected reports whether this node is connected to a majority of the nodes: then the bucket may be electing a
	// leader if no lease can be renewed. See Node.CutOff. Nil: never.
	Connected func() bool
	// Waiting is how many commands of one shard may wait for an owner. Default 8192.
	Waiting int

	Clock clockwork.Clock

	// Elapsed is the clock of leases: the time since some moment. It must never be set, and must include the time that
	// the machine is suspended, as the monotonic clock of package time does not on Linux and macOS. Nil: the clock of
	// the operating system that does. No clock notices a hypervisor that stops the whole virtual machine.
	Elapsed func() time.Duration

	Log *slog.Logger // nil: discard

	// Serve executes a command of another node while this one owns the shard. It must not block; done is called exactly
	// once, in any goroutine. An error means that the command was not executed and will not be: then it is sent again
	// to the shard's next owner. Every other outcome is an answer. Serve owns cmd.
	//
	// Commands of one sender are served in the order of their Send calls. If one is refused with an error, those served
	// after it in the same term must be refused, too.
	Serve func(shard int, cmd []byte, done func(answer []byte, err error))

	// Barrier answers with the number of a record up to which everything is durable that the shard had executed before
	// the call. The rules of Serve apply; it must fail if the term does not hold at its end.
	Barrier func(shard int, done func(seq uint64, err error))
}

// NameForm is the form of the names of nodes and clusters, which are parts of subjects and keys.
var NameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (c *Config) complete() error {
	c.Name = cmp.Or(c.Name, "muster")
	switch {
	case !NameForm.MatchString(c.Node):
		return fmt.Errorf("the name of the node is %q: it must have 1 to 64 letters, digits, - and _", c.Node)
	case !NameForm.MatchString(c.Name):
		return fmt.Errorf("the name of the cluster is %q: it must have 1 to 64 letters, digits, - and _", c.Name)
	case c.Shards < 1 || c.Conn == nil || c.Serve == nil || c.Barrier == nil:
		return errors.New("cluster: Shards, Conn, Serve and Barrier are required")
	}
	c.Replicas = cmp.Or(c.Replicas, 1)
	c.Lease = cmp.Or(c.Lease, 3*time.Second)
	c.Renew = cmp.Or(c.Renew, c.Lease/3)
	c.Moves = cmp.Or(c.Moves, 2)
	c.Patience = cmp.Or(c.Patience, 10*time.Second)
	c.Linger = cmp.Or(c.Linger, max(3*c.Lease, c.Patience))
	c.Waiting = cmp.Or(c.Waiting, 8192)
	if c.Connected == nil {
		c.Connected = func() bool { return false }
	}
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	if c.Elapsed == nil {
		c.Elapsed = bootTime
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Renew > c.Lease/2 {
		return fmt.Errorf("cluster: heartbeats every %v are too few for a lease of %v", c.Renew, c.Lease)
	}
	return nil
}

// writing is the timeout for writing a lease. A lost leader of the bucket does not answer, so its successor should be
// asked soon.
func (c *Config) writing() time.Duration { return c.Renew / 2 }
