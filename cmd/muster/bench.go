package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/release"
)

func (a *app) benchCommand() *cobra.Command {
	b := benchmark{app: a, config: bench.DefaultConfig(), talk: &sharedWriter{to: a.stderr}}
	command := &cobra.Command{
		Use:   "bench [profile...]",
		Short: "Put load on a service and measure it",
		Long: `Put load on a service with the API and the server SDK 5 protocol of Amazon
GameLift Servers, and measure it.

Each profile creates its own fleet, computes and server processes, works for a
while, and deletes them again. Without --rate every connection works as fast as
it is answered; with it, so many operations per second are started, and the time
of an operation counts from when it was due.

With --sdk legacy the game servers of profile lives use server SDK 3 instead, and
join the service's fleet for old game servers, which needs legacy=on.

Without an endpoint, in --endpoint or AWS_ENDPOINT_URL_GAMELIFT, a service is
started as a separate process, with its data in a temporary directory.

The rates of each second go to standard error, the summary to standard output.
Every server process needs an open file here, and one in the service.

Profiles (all of them, if none is named):
` + profileList(),
		Example: `  muster bench players --duration 30s
  muster bench sessions --pool 10000 --rate 1000 --json sessions.json
  muster bench matchmaking --rate 2000 --waiting 10000
  ` + sourceDev() + `; muster bench search --pool 500
  muster bench lives --sdk legacy
  muster bench lives --endpoint https://games.example.com:9080 --access-key AKIA… --secret-key …`,
		ValidArgs: profileNames(),
	}
	b.addFlags(command)
	command.RunE = func(command *cobra.Command, names []string) error {
		profiles, err := chosenProfiles(names)
		if err != nil {
			return &misuseError{err}
		}
		for _, p := range profiles {
			if err := b.config.CheckSDK(p); err != nil {
				return &misuseError{err}
			}
		}
		if err := b.complete(); err != nil {
			return &misuseError{err}
		}
		return b.run(command.Context(), profiles)
	}
	return command
}

type benchmark struct {
	*app
	config   bench.Config
	caFile   string
	jsonFile string
	pprof    string        // profiler address of a service started here
	talk     *sharedWriter // standard error, shared with the service
}

// A sharedWriter is safe for concurrent use; each call writes whole lines.
type sharedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *sharedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

func (b *benchmark) addFlags(command *cobra.Command) {
	f, c := command.Flags(), &b.config
	f.StringVar(&c.Endpoint, "endpoint", "", "base URL of the API (environment AWS_ENDPOINT_URL_GAMELIFT)")
	f.StringVar(&c.Credentials.AccessKey, "access-key", "", "access key (environment AWS_ACCESS_KEY_ID)")
	f.StringVar(&c.Credentials.SecretKey, "secret-key", "",
		"its secret; better in the environment (AWS_SECRET_ACCESS_KEY)")
	f.StringVar(&c.Credentials.Region, "region", "", "region that calls are signed for (environment AWS_REGION)")
	f.StringVar(&c.WebSocketURL, "websocket-url", "",
		"URL for game servers (environment MUSTER_WS_URL; default: from RegisterCompute)")
	f.StringVar(&c.MetricsURL, "metrics-url", "", "the service's Prometheus metrics (default ENDPOINT/metrics)")
	f.StringVar(&b.caFile, "ca-file", "", "PEM file of the CA to trust (environment MUSTER_CA_FILE)")
	f.StringVar(&c.SDK, "sdk", c.SDK, "server SDK of the game servers: 5, or legacy in profile lives")
	f.StringVar(&c.LegacyAddress, "legacy-address", c.LegacyAddress, "TCP address of socket.io, with --sdk legacy")
	f.StringVar(&c.LegacyFleet, "legacy-fleet", c.LegacyFleet, "fleet of the game servers, with --sdk legacy")
	f.IntVar(&c.Connections, "connections", c.Connections, "connections, each with one operation at a time")
	f.IntVar(&c.InFlight, "in-flight", c.InFlight, "requests in flight per game server, in profile accept")
	f.DurationVar(&c.Duration, "duration", c.Duration, "how long to work")
	f.Float64Var(&c.Rate, "rate", 0, "operations per second to start; 0: as fast as possible")
	f.IntVar(&c.Pool, "pool", 0, "server processes to prepare; 0: the profile's default")
	f.IntVar(&c.Batch, "batch", c.Batch, "players per call, in profile players")
	f.IntVar(&c.Locations, "locations", c.Locations, "locations of the fleet")
	f.StringVar(&c.Filter, "filter", c.Filter, "filter expression of profile search")
	f.StringVar(&c.Sort, "sort", c.Sort, "sort expression of profile search")
	f.IntVar(&c.Limit, "limit", c.Limit, "page size of profile search")
	f.IntVar(&c.Waiting, "waiting", c.Waiting, "waiting tickets when profile matchmaking begins")
	f.StringVar(&b.jsonFile, "json", "", "file for the results as JSON")
	f.StringVar(&b.pprof, "pprof-listen", "", "TCP address of Go's profiler in the started service")
}

// complete fills in missing values from the environment.
func (b *benchmark) complete() (err error) {
	c := &b.config
	if c.Endpoint == "" {
		c.Endpoint = b.endpoint()
		c.WebSocketURL = cmp.Or(c.WebSocketURL, b.getenv("MUSTER_WS_URL"))
	}
	if c.Endpoint == "" {
		return nil // as a service started here reports
	}
	if b.pprof != "" {
		return errors.New("--pprof-listen is for a service that is started here; this one is at " + c.Endpoint)
	}
	if err := b.credentials(&c.Credentials); err != nil {
		return err
	}
	c.MetricsURL = cmp.Or(c.MetricsURL, strings.TrimSuffix(c.Endpoint, "/")+"/metrics")
	c.TLS, err = b.trusted(b.caFile)
	return err
}

// run runs the profiles, with its own service if no endpoint is set.
func (b *benchmark) run(ctx context.Context, profiles []bench.Profile) (err error) {
	if b.config.Endpoint == "" {
		own, err := startBenchService(ctx, b.talk, b.pprof, b.config)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, own.stop()) }()
		own.aim(&b.config)
	}
	results, err := b.measure(ctx, profiles)
	if len(results) > 0 {
		err = errors.Join(err, bench.WriteTable(b.stdout, results), b.writeJSON(results))
	}
	return err
}

// measure runs the profiles until one fails.
func (b *benchmark) measure(ctx context.Context, profiles []bench.Profile) ([]*bench.Result, error) {
	var results []*bench.Result
	for _, p := range profiles {
		config := b.config
		config.Note = func(text string) { fmt.Fprintf(b.talk, "%s: %s\n", p.Name, text) }
		config.Progress = func(now bench.Progress) {
			fmt.Fprintf(b.talk, "%s: %4.0f s  %9.0f %s/s  %9.0f operations/s  %d errors\n",
				p.Name, now.Elapsed.Seconds(), now.Units, p.Unit, now.Operations, now.Failures)
		}
		result, err := bench.Run(ctx, p, config)
		if result != nil {
			results = append(results, result)
		}
		if err != nil {
			return results, fmt.Errorf("profile %s: %w", p.Name, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return results, nil
}

// A benchReport is the JSON file.
type benchReport struct {
	Version release.Build   `json:"version"`
	CPUs    int             `json:"cpus"`
	Results []*bench.Result `json:"results"`
}

func (b *benchmark) writeJSON(results []*bench.Result) error {
	if b.jsonFile == "" {
		return nil
	}
	text, err := json.MarshalIndent(benchReport{release.Current(), runtime.NumCPU(), results}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(b.jsonFile, append(text, '\n'), 0o666)
}

// chosenProfiles finds profiles by their names; no name means all.
func chosenProfiles(names []string) ([]bench.Profile, error) {
	if len(names) == 0 {
		return bench.Profiles(), nil
	}
	var profiles []bench.Profile
	for _, name := range names {
		p, ok := bench.Lookup(name)
		if !ok {
			return nil, fmt.Errorf("unknown profile %q: must be one of %s", name, strings.Join(profileNames(), ", "))
		}
		profiles = append(profiles, p)
	}
	return profiles, nil
}

func profileNames() []string {
	var names []string
	for _, p := range bench.Profiles() {
		names = append(names, p.Name)
	}
	return names
}

func profileList() string {
	var list strings.Builder
	for _, p := range bench.Profiles() {
		fmt.Fprintf(&list, "  %-11s %s\n", p.Name, p.Summary)
	}
	return strings.TrimSuffix(list.String(), "\n")
}
