package access

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/control/idp"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const account = "111122223333"

// A memoryCatalog is a catalog without journal.
type memoryCatalog struct {
	mu    sync.Mutex
	state *catalog.State
	clock clockwork.Clock
}

func (c *memoryCatalog) Catalog() *catalog.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.Copy()
}

func (c *memoryCatalog) Now() event.Time { return event.At(c.clock.Now()) }

func (c *memoryCatalog) Change(_ context.Context, command catalog.Command) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	events, err := c.state.Decide(c.Now(), command)
	if err != nil {
		return err
	}
	for _, e := range events {
		c.state.Apply(e)
	}
	return nil
}

// A world is the access of a region, with two nodes.
type world struct {
	*Access
	t       testing.TB
	other   *Access // another node
	catalog *memoryCatalog
	clock   *clockwork.FakeClock
	trail   *audit.Trail
	from    Origin
	invite  string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	clock := clockwork.NewFakeClockAt(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))
	secrets, err := credentials.New(make([]byte, credentials.SecretSize))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, clock: clock, catalog: &memoryCatalog{state: catalog.New(catalog.DefaultLimits()), clock: clock},
		from: Origin{Address: netip.MustParseAddr("192.0.2.7"), TLS: true, UserAgent: "test", RequestID: "r-1"},
	}
	w.trail = audit.New(audit.Config{Feed: memory.NewFeedAt(clock), Clock: clock, Log: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.trail.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	config := Config{
		Region: "us-west-2", Account: account, Secrets: secrets, Catalog: w.catalog, Trail: w.trail, Clock: clock,
		Used: memory.NewBucket(clock), Tokens: idp.NewVerifier(clock, nil, slog.New(slog.DiscardHandler)),
		Log: slog.New(slog.DiscardHandler),
	}
	w.Access, w.other = New(config), New(config)
	w.Access.hashMemory, w.other.hashMemory = 64, 64 // quick
	return w
}

// ok fails the test at an error.
func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// kind fails the test unless an error is a fault of a kind.
func (w *world) kind(err error, kind fault.Kind) {
	w.t.Helper()
	if !fault.Is(err, kind) {
		w.t.Fatalf("got %v instead of %s", err, kind)
	}
}

func (w *world) is(err, want error) {
	w.t.Helper()
	if !errors.Is(err, want) {
		w.t.Fatalf("got %v instead of %v", err, want)
	}
}

const goodPassword = "correct horse battery"

// person adds a user with a password and roles, and returns it signed in.
func (w *world) person(name string, roles ...string) *Person {
	w.t.Helper()
	_, err := w.CreateUser(w.t.Context(), nil, UserInput{Name: name, Password: goodPassword})
	w.ok(err)
	for _, role := range roles {
		w.ok(w.Assign(w.t.Context(), nil, name, role))
	}
	return w.signIn(name)
}

func (w *world) signIn(name string) *Person {
	w.t.Helper()
	user, err := w.CheckPassword(w.t.Context(), name, goodPassword, w.from)
	w.ok(err)
	s, err := w.StartSignIn(w.t.Context(), Start{User: user.Name, Client: "aws-cli", Kind: KindSSO, Origin: w.from})
	w.ok(err)
	return &Person{User: user, SignIn: s}
}

// identity returns whom a temporary key authenticates on a node; nil if it is refused.
func identity(a *Access, t *Temporary) *Identity {
	c, ok := a.Secret(t.AccessKeyID, t.SessionToken)
	if !ok || c.Secret != t.SecretAccessKey {
		return nil
	}
	return c.Identity.(*Identity)
}

// key returns whom a long-lived key authenticates, in a call; nil if it is refused.
func key(a *Access, k *KeyCreated) *Identity {
	c, ok := a.Secret(k.ID, "")
	if !ok || c.Secret != k.Secret {
		return nil
	}
	return a.IdentityOf(callerWith(c.Identity))
}

func action(t testing.TB, name string) policy.Action {
	t.Helper()
	a, ok := policy.ActionOf(name)
	if !ok {
		t.Fatalf("no action %s", name)
	}
	return a
}

// may reports whether an identity may do something.
func (w *world) may(id *Identity, name string, resources ...string) bool {
	w.t.Helper()
	return w.Allow(id, w.from, action(w.t, name), resources...) == nil
}

// events returns the names of the recorded events, with the code of a failure.
func (w *world) events() (names []string) {
	w.t.Helper()
	w.ok(w.trail.Flush(w.t.Context()))
	w.ok(w.trail.Read(w.t.Context(), audit.Query{}, func(_ string, line []byte) bool {
		names = append(names, eventOf(w.t, line))
		return true
	}))
	return names
}
