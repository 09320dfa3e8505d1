package processes

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Config configures the connections. All fields are required unless they say otherwise.
type Config struct {
	Router   *router.Router
	Keys     sigv4.Keys    // of server processes that sign their request
	Skew     time.Duration // how far the clock of a signer may be off; 0: the default
	Endpoint string        // wss://…: where a process reconnects if the URL that it has dialed is unknown
	Clock    clockwork.Clock
	Log      *slog.Logger

	// Allow returns an AccessDenied fault if the signer of a connection request may not act for a fleet.
	Allow func(caller sigv4.Caller, f fleet.ID) error

	// Token returns the text of a compute's auth token.
	Token func(room fleet.RoomID, compute string, serial uint64) string

	// Role returns keys of the role of a compute's fleet; nil if it has none. The error is a *fault.Error.
	Role func(room fleet.RoomID, compute, role, session string) (*RoleKeys, error)

	// The operations of the API that a process may call. Players answers within one fleet; the game session of a
	// backfill must be hosted by the process, and StartBackfill returns the ticket's id.
	Players func(context.Context, *wire.DescribePlayerSessionsInput, fleet.ID) (
		*wire.DescribePlayerSessionsOutput, error)
	StartBackfill func(ctx context.Context, in *wire.StartMatchBackfillInput, host Key, request string) (string, error)
	StopBackfill  func(ctx context.Context, gameSessionArn, configuration, ticket string, host Key) error
}

// A Key names a server process.
type Key struct {
	Room    fleet.RoomID
	Process fleet.ProcessKey
}

// Hosts reports whether the process hosts a game session of a room.
func (k Key) Hosts(room fleet.RoomID, g *fleet.GameSession) bool {
	return k.Room == room && k.Process == g.Host
}

// Connections are the connections of server processes to this node. Its methods are safe for concurrent use.
type Connections struct {
	cfg        Config
	router     *router.Router
	shards     []*registry
	verifier   *sigv4.Verifier
	signatures usedSignatures
	starts     starts
}

// New returns the connections of a region, with none open.
func New(cfg Config) *Connections {
	cfg.Skew = cmp.Or(cfg.Skew, sigv4.DefaultSkew)
	c := &Connections{cfg: cfg, router: cfg.Router, verifier: sigv4.New(sigv4.Config{Keys: cfg.Keys, Skew: cfg.Skew})}
	for _, s := range cfg.Router.Shards() {
		c.shards = append(c.shards, newRegistry(s))
	}
	return c
}

// Connect authenticates a server process and makes its connection the primary one. It implements Connector.
func (c *Connections) Connect(ctx context.Context, r ConnectRequest) (Connection, error) {
	if r.FleetID == "" || r.ComputeName == "" || r.ProcessID == "" || r.Authorization == "" {
		return nil, fault.New(fault.InvalidRequest,
			"The connection needs the parameters FleetId, ComputeId, pID and Authorization")
	}
	room, err := roomOf(c.router, r.FleetID, r.ComputeName)
	if err != nil {
		return nil, err
	}
	n := c.newConnection(&r, Key{room, fleet.ProcessKey{Compute: r.ComputeName, ID: r.ProcessID}})
	var once string // a signature that is valid for one connection
	if n.signed {
		if once, err = c.checkSignature(ctx, &r, n.key); err != nil {
			return nil, err
		}
	}
	opened, err := n.open(ctx)
	if err != nil && once != "" {
		c.signatures.forget(once)
	}
	return opened, err
}

func (c *Connections) newConnection(r *ConnectRequest, key Key) *connection {
	n := &connection{
		all: c, registry: c.registryOf(key.Room), key: key,
		push: r.Push, replaced: r.Replaced, signed: r.Authorization == "SigV4",
		announcement: fleet.ConnectProcess{
			ProcessKey: key.Process, Idempotency: r.IdempotencyToken, SDKVersion: r.SDKVersion,
			SDKLanguage: r.SDKLanguage,
		},
	}
	if n.signed {
		n.endpoint = cmp.Or(r.Endpoint, c.cfg.Endpoint)
	} else { // the room, which knows the compute, checks its token
		n.announcement.Proof = r.Authorization
	}
	return n
}

// registryOf returns the registry of the shard that has a fleet location.
func (c *Connections) registryOf(room fleet.RoomID) *registry {
	return c.shards[region.ShardOf(room, len(c.shards))]
}

// resuming is the number of concurrent announcements, so that one batch of the shard contains many of them.
const resuming = 256

// Run announces the open connections of a shard again whenever it has recovered, until ctx is done.
func (c *Connections) Run(ctx context.Context) error {
	var group errgroup.Group
	for _, r := range c.shards {
		group.Go(func() error {
			for {
				select {
				case <-ctx.Done():
					return nil
				case <-r.recovered:
					r.resume(ctx)
				}
			}
		})
	}
	return group.Wait()
}

// resume announces all present connections again.
func (r *registry) resume(ctx context.Context) {
	var group errgroup.Group
	group.SetLimit(resuming)
	for _, n := range r.all() {
		group.Go(func() error {
			n.resume(ctx)
			return nil
		})
	}
	_ = group.Wait() // failures are logged
}

// Observe processes a commit of a shard, on its commit goroutine.
func (c *Connections) Observe(commit *router.Commit) {
	r := c.shards[commit.Shard]
	if commit.Recovered { // the new owner of the shard knows of no connection
		router.Wake(r.recovered)
	}
	for i, f := range commit.Facts {
		c.dispatch(r, commit.Rooms[i], f.Body)
	}
}

func (c *Connections) dispatch(r *registry, room fleet.RoomID, fact any) {
	switch e := fact.(type) {
	case *fleet.ProcessConnected:
		r.connected(Key{room, e.ProcessKey})
	case *fleet.ProcessResumed:
		r.resumed(Key{room, e.ProcessKey})
	case *fleet.GameSessionCreated:
		if n := r.primary(Key{room, e.Host}); n != nil {
			n.startGameSession(c.createdPush(room, e), n.timesAsked())
		}
	case *fleet.GameSessionHosted:
		if n := r.primary(Key{room, e.Host}); n != nil {
			c.router.Go(n.hosted)
		}
	case *fleet.ProcessAskedToEnd:
		if n := r.primary(Key{room, e.ProcessKey}); n != nil {
			n.terminate(e.By, n.timesAsked())
		}
	case *fleet.ProcessHasEnded:
		if n := r.remove(Key{room, e.ProcessKey}); n != nil {
			n.ended(e)
		}
	}
}

// Update sends a process the state of the backfill ticket of its game session, or keeps the update until the process
// connects. It reports whether the process is connected here.
func (c *Connections) Update(host Key, g *fleet.GameSession, ticket,
	reason string) (update UpdateGameSessionPush, here bool) {
	update = UpdateGameSessionPush{
		GameSession: c.sessionPush(host.Room, g), FleetID: string(host.Room.Fleet), Location: host.Room.Location,
		Status: string(g.Status), StatusReason: g.StatusReason, UpdateReason: reason, BackfillTicketID: ticket,
	}
	return update, c.Push(host, update)
}

// Push pushes an update to a process, or keeps it until the process connects. ProcessResumed reports a connection to
// another node. Push reports whether the process is connected here.
func (c *Connections) Push(host Key, update UpdateGameSessionPush) (here bool) {
	return c.registryOf(host.Room).update(host, update)
}

// createdPush returns the push for a game session that was assigned to a process.
func (c *Connections) createdPush(room fleet.RoomID, e *fleet.GameSessionCreated) CreateGameSessionPush {
	return CreateGameSessionPush{
		GameSessionID: c.router.GameSessionARN(room, e.ID), Name: e.Name, GameSessionData: e.Data,
		MatchmakerData: e.MatchmakerData, IPAddress: e.IPAddress, DNSName: e.DNSName, Port: e.Port,
		FleetID: string(room.Fleet), MaximumPlayerSessionCount: e.Maximum, GameProperties: propertyMap(e.Properties),
	}
}

// sessionPush returns the push for an existing game session.
func (c *Connections) sessionPush(room fleet.RoomID, g *fleet.GameSession) CreateGameSessionPush {
	return CreateGameSessionPush{
		GameSessionID: c.router.GameSessionARN(room, g.ID), Name: g.Name, GameSessionData: g.Data,
		MatchmakerData: g.MatchmakerData, IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port,
		FleetID: string(room.Fleet), MaximumPlayerSessionCount: g.Maximum, GameProperties: propertyMap(g.Properties),
	}
}

func propertyMap(properties []fleet.Property) map[string]string {
	m := make(map[string]string, len(properties))
	for _, p := range properties {
		m[p.Key] = p.Value
	}
	return m
}
