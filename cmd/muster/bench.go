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
	"runtime/debug"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/bench"
)

func (a *app) benchCommand() *cobra.Command {
	b := benchmark{app: a, config: bench.DefaultConfig(), talk: &sharedWriter{to: a.stderr}}
	command := &cobra.Command{
		Use:   "bench [profile...]",
		Short: "Put load on a service and measure how it holds up",
		Long: `Put load on a service and measure how it holds up: this one, or any other that
speaks the API and the server SDK 5 protocol of Amazon GameLift Servers.

Each profile makes a fleet, computes and server processes for itself, works for
a while, and takes them away again. Without --rate every connection works as
fast as it is answered; with it, that many operations a second are begun, and
an operation's time counts from the moment that it was due.

Without an endpoint, in --endpoint or AWS_ENDPOINT_URL_GAMELIFT, a service is
started as a process of its own, with its data in a temporary directory.

The rates of each second go to standard error, the summary to standard output.
Every server process needs an open file here, and one in the service.

Profiles (all of them, if none is named):
` + profileList(),
		Example: `  muster bench players --duration 30s
  muster bench sessions --pool 10000 --rate 1000 --json sessions.json
  muster bench matchmaking --rate 2000 --waiting 10000
  ` + sourceDev() + `; muster bench search --pool 500
  muster bench lives --endpoint https://games.example.com:9080 --access-key AKIA… --secret-key …`,
		ValidArgs: profileNames(),
	}
	b.addFlags(command)
	command.RunE = func(command *cobra.Command, names []string) error {
		profiles, err := chosenProfiles(names)
		if err != nil {
			return &misuseError{err}
		}
		if err := b.complete(); err != nil {
			return &misuseError{err}
		}
		return b.run(command.Context(), profiles)
	}
	return command
}

// benchmark is one run of muster bench.
type benchmark struct {
	*app
	config   bench.Config
	caFile   string
	jsonFile string
	pprof    string        // where the profiler of a service of our own listens
	talk     *sharedWriter // standard error, to which the service writes too
}

// A sharedWriter lets several goroutines write, each of them whole lines.
type sharedWriter struct {
	mu sync.Mutex
	to io.Writer
}

// Write writes p as a whole.
func (w *sharedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

func (b *benchmark) addFlags(command *cobra.Command) {
	f, c := command.Flags(), &b.config
	f.StringVar(&c.Endpoint, "endpoint", "", "base URL of the API (environment AWS_ENDPOINT_URL_GAMELIFT)")
	f.StringVar(&c.Credentials.AccessKey, "access-key", "", "access key (environment AWS_ACCESS_KEY_ID)")
	f.StringVar(&c.Credentials.SecretKey, "secret-key", "", "its secret; better in the environment (AWS_SECRET_ACCESS_KEY)")
	f.StringVar(&c.Credentials.Region, "region", "", "region that calls are signed for (environment AWS_REGION)")
	f.StringVar(&c.WebSocketURL, "websocket-url", "", "URL for game servers (environment MUSTER_WS_URL; default: what RegisterCompute answers)")
	f.StringVar(&c.MetricsURL, "metrics-url", "", "the service's Prometheus metrics (default ENDPOINT/metrics)")
	f.StringVar(&b.caFile, "ca-file", "", "PEM file of the authority to trust (environment MUSTER_CA_FILE)")
	f.IntVar(&c.Connections, "connections", c.Connections, "connections, each of which makes one operation at a time")
	f.IntVar(&c.InFlight, "in-flight", c.InFlight, "requests that a game server of profile accept has under way at the same time")
	f.DurationVar(&c.Duration, "duration", c.Duration, "how long to work")
	f.Float64Var(&c.Rate, "rate", 0, "operations a second to begin; 0: as many as are answered")
	f.IntVar(&c.Pool, "pool", 0, "server processes to prepare; 0: the profile's own number")
	f.IntVar(&c.Batch, "batch", c.Batch, "players in a call of profile players")
	f.IntVar(&c.Locations, "locations", c.Locations, "locations of the fleet, which share the work")
	f.StringVar(&c.Filter, "filter", c.Filter, "filter expression of profile search")
	f.StringVar(&c.Sort, "sort", c.Sort, "sort expression of profile search")
	f.IntVar(&c.Limit, "limit", c.Limit, "game sessions on a page of profile search")
	f.IntVar(&c.Waiting, "waiting", c.Waiting, "tickets that wait when the work of profile matchmaking begins")
	f.StringVar(&b.jsonFile, "json", "", "file for the results as JSON")
	f.StringVar(&b.pprof, "pprof-listen", "", "TCP address of Go's profiler in the service that is started")
}

// complete takes from the environment what no flag gives.
func (b *benchmark) complete() (err error) {
	c := &b.config
	if c.Endpoint == "" {
		c.Endpoint = b.endpoint()
		c.WebSocketURL = cmp.Or(c.WebSocketURL, b.getenv("MUSTER_WS_URL"))
	}
	if c.Endpoint == "" {
		return nil // a service of our own will say
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

// run runs the profiles, against a service of its own if there is no other.
func (b *benchmark) run(ctx context.Context, profiles []bench.Profile) (err error) {
	if b.config.Endpoint == "" {
		own, err := startBenchService(ctx, b.talk, b.pprof)
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

// measure runs one profile after the other, up to one that fails.
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
	Version version         `json:"version"`
	CPUs    int             `json:"cpus"`
	Results []*bench.Result `json:"results"`
}

func (b *benchmark) writeJSON(results []*bench.Result) error {
	if b.jsonFile == "" {
		return nil
	}
	build, _ := debug.ReadBuildInfo() // nil for a binary without module support
	text, err := json.MarshalIndent(benchReport{versionOf(build), runtime.NumCPU(), results}, "", "  ")
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
			return nil, fmt.Errorf("there is no profile %q; there are: %s", name, strings.Join(profileNames(), ", "))
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
