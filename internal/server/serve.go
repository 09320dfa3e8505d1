package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/listen"
)

// serve starts the parts, announces the service when they answer, and stops them: other nodes take the shards, the
// endpoints are closed, the node leaves, and the control plane ends after its last batch, which answers the last
// callers.
func (s *service) serve(ctx context.Context) error {
	planeCtx, stopPlane := context.WithCancel(context.WithoutCancel(ctx))
	defer stopPlane()
	group, ctx := errgroup.WithContext(ctx)
	s.stopping = ctx.Done()
	group.Go(func() error { return s.plane.Run(planeCtx) })
	if s.nodes != nil {
		group.Go(func() error { return s.nodes.Run(planeCtx) })
		group.Go(func() error { return s.watchPresence(ctx) })
	}
	group.Go(func() error {
		err := s.engine.Broken(ctx)
		if err != nil {
			stopPlane() // at once, to answer callers that wait for failed writes
		}
		return err
	})
	group.Go(func() error { return s.trail.Run(planeCtx) })
	group.Go(func() error { return s.recorder.Run(planeCtx) })
	group.Go(func() error { return s.pusher.Run(planeCtx) })
	group.Go(func() error { return s.objects.Run(planeCtx) })
	group.Go(s.serveCalls)
	group.Go(s.serveRest)
	if s.gateway != nil {
		group.Go(s.gateway.run)
	}
	for _, port := range append(s.legacy.all(), s.scrapes, s.profiler) {
		group.Go(func() error { return port.run(ctx) })
	}
	group.Go(func() error { return s.watchCertificate(ctx) })
	group.Go(func() error { return s.announce(ctx) })
	group.Go(func() error {
		<-ctx.Done()
		s.stopped = s.cfg.Clock.Now()
		s.cfg.Log.Info("stopping", "reason", context.Cause(ctx))
		defer stopPlane()
		if s.kit != nil {
			s.kit.Close()
		}
		s.transferShards()
		err := s.closeEndpoints()
		s.leave()
		return err
	})
	return group.Wait()
}

// reportStopped logs the end of a stop without errors. The caller reports an error.
func (s *service) reportStopped(err *error) {
	if *err == nil && !s.stopped.IsZero() {
		s.cfg.Log.Info("stopped", "took", s.cfg.Clock.Since(s.stopped))
	}
}

// serveCalls answers plain API calls.
func (s *service) serveCalls() error {
	if err := s.calls.Serve(s.listener); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// serveRest answers all other requests.
func (s *service) serveRest() error {
	if err := s.http.Serve(listen.Unambiguous(s.http, s.calls.Rest())); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// announce reports the addresses of the service when it answers.
func (s *service) announce(ctx context.Context) error {
	if s.plane.WaitReady(ctx) != nil {
		return nil // stopped before
	}
	if s.nodes != nil && s.nodes.Open(ctx) != nil {
		return nil // stopped before, or the owner of the catalog was
	}
	if err := s.plane.OpenLegacyFleet(ctx); err != nil {
		return fmt.Errorf("legacy-fleet: %w", err)
	}
	close(s.ready)
	key, created, err := s.plane.RootKey(ctx)
	if err != nil {
		return err
	}
	e := s.endpoints(key)
	s.cfg.Log.Info("muster is ready", "http", e.HTTP, "gateway", e.Gateway, "region", e.Region,
		"access_key", e.AccessKey, "access_key_is_new", created)
	s.attachTests(e)
	if s.cfg.Ready != nil {
		s.cfg.Ready(e)
	}
	return nil
}

func (s *service) endpoints(key access.KeyPair) config.Endpoints {
	host := dialable(s.listener.Addr())
	e := config.Endpoints{
		HTTP: "http://" + host, WS: "ws://" + host, WSS: "wss://" + host,
		CAFile: s.caFile, AccessKey: key.ID, SecretKey: key.Secret, Region: s.cfg.Region,
		Gateway: s.gateway.url(s.cfg.Plaintext != "refuse"), Metrics: s.scrapes.url("/metrics"),
		Pprof: s.profiler.url("/debug/pprof/"), Legacy: s.legacy.addresses(),
	}
	if s.cfg.Plaintext == "refuse" {
		e.HTTP, e.WS = "https://"+host, ""
	}
	return e
}

// closeEndpoints waits for requests in progress and closes the sockets of server processes, agents and machines,
// which then reconnect elsewhere or later. The session gateway is first and has half of the time, because
// its requests wait for server processes.
func (s *service) closeEndpoints() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.ShutdownTimeout)
	defer cancel()
	first, cancelFirst := context.WithTimeout(ctx, s.cfg.ShutdownTimeout/2)
	defer cancelFirst()
	s.operator.Stop()
	s.console.Stop()
	err := errors.Join(s.gateway.close(first), s.servers.Close(ctx), s.agents.Close(ctx), s.machines.Close(ctx),
		s.legacy.close(ctx))
	var stopping errgroup.Group
	for _, server := range []interface {
		Shutdown(context.Context) error
		Close() error
	}{s.calls, s.http} {
		stopping.Go(func() error {
			if server.Shutdown(ctx) != nil {
				return server.Close()
			}
			return nil
		})
	}
	return errors.Join(err, stopping.Wait())
}
