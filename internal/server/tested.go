package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/testkit"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// testSkew is the maximum clock difference of signed requests in a service for tests, whose clock they move.
const testSkew = 100 * 365 * 24 * time.Hour

// quotas returns the limit of calls, with that of a service for tests.
func (s *service) quotas(allow func(operation, principal string) bool) func(operation, principal string) bool {
	if s.kit == nil {
		return allow
	}
	return func(operation, principal string) bool {
		return allow(operation, principal) && s.kit.Allow(operation)
	}
}

// injected returns what a service for tests does to calls; nil: nothing.
func (s *service) injected() func(ctx context.Context, operation string) (lose bool, err error) {
	if s.kit == nil {
		return nil
	}
	return s.kit.Call
}

// injecting has a service for tests do the same to requests of the session gateway.
func injecting(kit *testkit.Kit, next http.Handler) http.Handler {
	if kit == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lose, err := kit.Call(r.Context(), r.Method+" "+r.URL.Path)
		if err != nil {
			f := fault.Of(err)
			gateway.WriteError(w, gateway.CodeOf(f.Kind), f.Message)
			return
		}
		if !lose {
			next.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(unread{http.Header{}}, r)
		panic(http.ErrAbortHandler) // closes the connection
	})
}

// unread is an answer that is not sent.
type unread struct{ header http.Header }

func (u unread) Header() http.Header         { return u.header }
func (u unread) Write(b []byte) (int, error) { return len(b), nil }
func (u unread) WriteHeader(int)             {}

// attachTests passes the ready service to its test kit.
func (s *service) attachTests(e config.Endpoints) {
	if s.kit == nil {
		return
	}
	s.kit.Attach(testkit.Service{
		URL: cmp.Or(e.WS, e.WSS),
		TLS: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, // the service is in this process
		Invoke: func(ctx context.Context, operation string, body []byte) ([]byte, error) {
			from := access.Origin{Program: testkit.Caller}
			return s.api.InvokeJSON(ctx, s.plane.LocalIdentity(), from, operation, body)
		},
		Settle: s.settle, ReportHealth: s.reportHealth,
	})
}

// settle returns when no deadline of a shard is due.
func (s *service) settle(ctx context.Context) error {
	for i := range s.journals {
		for due := true; due; {
			err := s.plane.Shard(i).Read(ctx, func(m *region.Machine) {
				d := m.Deadline()
				due = !d.IsZero() && !d.After(s.cfg.Clock.Now())
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// reportHealth reports all connected game servers as healthy.
func (s *service) reportHealth(ctx context.Context) error {
	for i := range s.journals {
		var reports []region.RoomCommand
		err := s.plane.Shard(i).Read(ctx, func(m *region.Machine) {
			m.VisitRooms(func(r *fleet.Room) {
				r.Processes(func(p *fleet.Process) bool {
					if p.HealthBy != 0 { // it is connected and ready
						reports = append(reports, region.RoomCommand{Room: r.ID(),
							Command: fleet.ReportHealth{ProcessKey: p.ProcessKey, Healthy: true}})
					}
					return true
				})
			})
		})
		if err != nil {
			return err
		}
		for _, report := range reports {
			_, err := router.Ask[any](ctx, s.plane.Shard(i), report)
			if err != nil && !fault.Is(err, fault.NotFound) { // it has ended meanwhile
				return err
			}
		}
	}
	return nil
}
