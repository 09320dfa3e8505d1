package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/listen/sigv4"
)

// benchStop is the time-out for stopping the service.
const benchStop = 20 * time.Second

// A benchService is a service started by muster bench, as a separate process so that resource usage can be told apart.
type benchService struct {
	command *exec.Cmd
	cancel  context.CancelFunc
	data    string
	profile map[string]string // the AWS profile that it has written
	legacy  string            // address of socket.io; "": off
}

// startBenchService starts a service for a run and waits until it answers.
func startBenchService(ctx context.Context, log io.Writer, pprof string, c bench.Config) (s *benchService, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s = &benchService{}
	if s.data, err = os.MkdirTemp("", "muster-bench-"); err != nil {
		return nil, err
	}
	var legacy []string
	if c.SDK == bench.SDKLegacy {
		if legacy, err = s.legacySettings(ctx, c.LegacyFleet); err != nil {
			return nil, errors.Join(err, os.RemoveAll(s.data))
		}
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it must outlive ctx, for cleaning up
	s.cancel = cancel
	args := []string{"serve", "--data", s.data, "--listen", "127.0.0.1:0", "--gateway-listen", "",
		"--log-level", "warn", "--pprof-listen", pprof}
	s.command = exec.CommandContext(life, program, append(args, legacy...)...)
	apart(s.command)
	s.command.Env = withoutSettings(os.Environ())
	s.command.Stderr = log
	s.command.Cancel = func() error { return interrupt(s.command.Process) }
	s.command.WaitDelay = benchStop
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start a service: %w", err), s.stop())
	}
	fmt.Fprintf(log, "bench: started a service at %s (process %d, data in %s)\n",
		s.profile["endpoint_url"], s.command.Process.Pid, s.data)
	return s, nil
}

// legacySettings returns the settings for old game servers, on free ports.
func (s *benchService) legacySettings(ctx context.Context, fleet string) ([]string, error) {
	const host, count = "127.0.0.1", 3 // socket.io, HTTP and WebSocket
	var ports []string
	for range count {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()                                    // after the last one is found, so that they differ
		_, port, _ := net.SplitHostPort(l.Addr().String()) // a TCP address has one
		ports = append(ports, port)
	}
	s.legacy = net.JoinHostPort(host, ports[0])
	return []string{"--legacy=on", "--legacy-listen", host, "--legacy-ports", strings.Join(ports, ","),
		"--legacy-fleet", fleet}, nil
}

// withoutSettings removes settings for other services.
func withoutSettings(environ []string) []string {
	var kept []string
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "MUSTER_") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// start starts the process and waits until it prints the id of the first key, which it does when it answers and has
// written the AWS profile.
func (s *benchService) start(ctx context.Context) error {
	output, err := s.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.command.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, s.cancel)()
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "AWS_ACCESS_KEY_ID=") {
			return s.readProfile()
		}
	}
	return errors.Join(errors.New("it ended before it was ready"), ctx.Err(), lines.Err())
}

// readProfile reads the addresses and credentials of the service.
func (s *benchService) readProfile() error {
	text, err := os.ReadFile(filepath.Join(s.data, profileFile))
	if err != nil {
		return err
	}
	s.profile = map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, "="); ok {
			s.profile[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return nil
}

// aim configures a run for the service.
func (s *benchService) aim(c *bench.Config) {
	c.Endpoint = s.profile["endpoint_url"]
	c.WebSocketURL = "ws" + strings.TrimPrefix(c.Endpoint, "http")
	if s.legacy != "" {
		c.LegacyAddress = s.legacy
	}
	c.MetricsURL = c.Endpoint + "/metrics"
	c.Credentials = sigv4.ClientCredentials{
		AccessKey: s.profile["aws_access_key_id"], SecretKey: s.profile["aws_secret_access_key"],
		Region: s.profile["region"],
	}
}

// stop ends the service and removes its data.
func (s *benchService) stop() error {
	s.cancel()
	err := s.command.Wait()
	if errors.Is(err, context.Canceled) || s.command.ProcessState == nil {
		err = nil // stopped as requested, or never started
	}
	return errors.Join(err, os.RemoveAll(s.data))
}
