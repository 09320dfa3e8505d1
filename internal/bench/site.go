package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

const (
	// perCompute is the number of server processes per compute. Source: GameLift quotas, "Server processes per
	// compute".
	perCompute = 50
	// helpers is how many resources are created or deleted concurrently.
	helpers = 64
)

// A site is what a run uses in the service: a fleet with locations, computes and server processes.
type site struct {
	cfg      Config
	endpoint endpoint
	name     string // unique per run

	fleet     string
	fleetArn  string
	shared    bool   // the fleet and its location belong to the service, and are not deleted
	queue     string // may be ""
	queueArn  string
	locations []string
	socketURL string
	arrivals  arrivals

	// observe, if set, is called before a round, and its result after it, to complete the Result.
	observe func() func(context.Context, *Result)
	undo    []func(context.Context, *conn) error // deletions of a profile, in reverse order

	mu        sync.Mutex
	computes  map[computeKey]*compute
	conns     []*conn
	processes []*process
}

// A computeKey identifies a compute by its location and its number there.
type computeKey struct{ location, number int }

// A compute runs up to perCompute server processes.
type compute struct {
	name, token string
	ready       sync.Once
	err         error
}

// openSite creates the fleet, or joins that of the legacy SDK.
func openSite(ctx context.Context, cfg Config) (*site, error) {
	e, err := parseEndpoint(cfg.Endpoint, cfg.TLS)
	if err != nil {
		return nil, err
	}
	s := &site{
		cfg: cfg, endpoint: e, name: "bench-" + strings.ToLower(rand.Text()[:8]), socketURL: cfg.WebSocketURL,
		computes: map[computeKey]*compute{},
	}
	if cfg.SDK == SDKLegacy {
		return s, s.joinLegacyFleet(ctx)
	}
	return s, s.makeFleet(ctx)
}

func (s *site) makeFleet(ctx context.Context) error {
	c := s.newConn()
	var locations []map[string]string
	for i := range s.cfg.Locations {
		name := fmt.Sprintf("custom-%s-%d", s.name, i)
		if err := c.ask(ctx, "CreateLocation", map[string]any{"LocationName": name}, nil); err != nil {
			return err
		}
		s.locations = append(s.locations, name)
		locations = append(locations, map[string]string{"Location": name})
	}
	var out struct {
		FleetAttributes struct{ FleetId, FleetArn string }
	}
	err := c.ask(ctx, "CreateFleet", map[string]any{
		"Name": s.name, "ComputeType": "ANYWHERE", "Locations": locations,
		"AnywhereConfiguration": map[string]string{"Cost": "1"},
	}, &out)
	s.fleet, s.fleetArn = out.FleetAttributes.FleetId, out.FleetAttributes.FleetArn
	return err
}

// newConn returns a connection that is closed with the site.
func (s *site) newConn() *conn {
	c := s.unownedConn()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, c)
	return c
}

// unownedConn returns a connection that the caller closes.
func (s *site) unownedConn() *conn {
	return &conn{endpoint: s.endpoint, signer: signer{credentials: s.cfg.Credentials, host: s.endpoint.host}}
}

// ask makes a call that is not measured.
func (c *conn) ask(ctx context.Context, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	answer, err := c.call(ctx, operation, body)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// location returns the location of the process or game session with this number.
func (s *site) location(number int) int { return number % len(s.locations) }

// compute returns the compute of a process, and registers it the first time.
func (s *site) compute(ctx context.Context, c *conn, process int) (*compute, error) {
	place := s.location(process)
	key := computeKey{place, process / len(s.locations) / perCompute}
	s.mu.Lock()
	host := s.computes[key]
	if host == nil {
		host = &compute{name: fmt.Sprintf("%s-%d-%d", s.name, key.location, key.number)}
		s.computes[key] = host
	}
	s.mu.Unlock()
	host.ready.Do(func() { host.err = s.register(ctx, c, host, s.locations[place]) })
	return host, host.err
}

func (s *site) register(ctx context.Context, c *conn, host *compute, location string) error {
	var registered struct {
		Compute struct{ GameLiftServiceSdkEndpoint string }
	}
	err := c.ask(ctx, "RegisterCompute", map[string]any{
		"FleetId": s.fleet, "ComputeName": host.name, "Location": location, "IpAddress": "127.0.0.1",
	}, &registered)
	if err != nil {
		return err
	}
	var token struct{ AuthToken string }
	err = c.ask(ctx, "GetComputeAuthToken", map[string]any{"FleetId": s.fleet, "ComputeName": host.name}, &token)
	host.token = token.AuthToken
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.socketURL == "" {
		s.socketURL = registered.Compute.GameLiftServiceSdkEndpoint
	}
	return err
}

// each calls do for the numbers below n, concurrently, each with a connection, until one fails.
func (s *site) each(ctx context.Context, n int, do func(ctx context.Context, c *conn, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	numbers := make(chan int)
	group.Go(func() error {
		defer close(numbers)
		for i := range n {
			select {
			case numbers <- i:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range min(n, helpers) {
		group.Go(func() error {
			c := s.newConn()
			defer c.close()
			for i := range numbers {
				if err := do(ctx, c, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// close ends the processes and deletes what was created, as far as possible.
func (s *site) close(ctx context.Context) error {
	for _, c := range s.conns {
		c.close()
	}
	s.conns = nil
	c := s.newConn()
	defer c.close()
	var errs []error
	for _, undo := range slices.Backward(s.undo) {
		errs = append(errs, undo(ctx, c))
	}
	errs = append(errs, s.endProcesses(ctx), s.deregister(ctx))
	if s.queue != "" {
		errs = append(errs, c.ask(ctx, "DeleteGameSessionQueue", map[string]any{"Name": s.queue}, nil))
	}
	if !s.shared {
		errs = append(errs, s.deleteFleet(ctx, c))
	}
	return errors.Join(errs...)
}

// deleteFleet deletes the fleet and its locations, as far as they were created.
func (s *site) deleteFleet(ctx context.Context, c *conn) error {
	var errs []error
	if s.fleet != "" {
		errs = append(errs, c.ask(ctx, "DeleteFleet", map[string]any{"FleetId": s.fleet}, nil))
	}
	for _, name := range s.locations {
		errs = append(errs, c.ask(ctx, "DeleteLocation", map[string]any{"LocationName": name}, nil))
	}
	return errors.Join(errs...)
}

func (s *site) deregister(ctx context.Context) error {
	var names []string
	for _, host := range s.computes {
		names = append(names, host.name)
	}
	return s.each(ctx, len(names), func(ctx context.Context, c *conn, i int) error {
		return c.ask(ctx, "DeregisterCompute", map[string]any{"FleetId": s.fleet, "ComputeName": names[i]}, nil)
	})
}
