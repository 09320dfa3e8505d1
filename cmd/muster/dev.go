package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/atomicfile"
	"github.com/muster-gg/muster/internal/server"
	"github.com/muster-gg/muster/internal/testkit"
)

func (a *app) devCommand() *cobra.Command {
	d := development{app: a}
	command := &cobra.Command{
		Use:   "dev",
		Short: "Run a local service for development, ready to use",
		Long: `Run a service on this machine until Ctrl-C, with an access key, a fleet of one
location and a few sample game servers, so that game sessions can be created at
once: with AWS tools, or by game clients at the session gateway. This machine has
joined the region, so that managed fleets run here, too. All data is kept for the
next start.

While it runs, a line on standard error shows each call, game session, player and
failure; --quiet leaves them out. Calls that repeat the one before are only counted.

A slot waits 5 minutes for its player (--reservation-timeout), and a sample game
server half an hour for the first player of its game session.

The service is ready when it has written muster.env in its data directory: export
lines for a shell, removed when the service stops. A shell that has sourced it sends
the calls of all AWS services that Muster has (GameLift, S3, IAM, STS, CloudWatch)
to Muster. If standard output is no terminal, the lines go there, too, without the
secret. muster.fish and muster.ps1 beside it are the same for fish and PowerShell.
aws-profile in the data directory is an AWS configuration file with the profile
"muster".

With --test it is a service for automated tests, without game servers or a machine
of its own: requests below /v1/test/ create fleets with game servers, move the
clock forward, and have calls fail. The clock moves in steps of a second: an hour
takes 5 seconds, a day two minutes, a week 13. The data is temporary, unless --data
is set, and a slot waits a minute for its player.`,
		Example: `  muster dev
  ` + sourceDev() + `; aws gamelift list-fleets
  muster dev --data /tmp/match --listen 127.0.0.1:0 --no-sample
  muster dev --test --listen 127.0.0.1:0 --gateway-listen 127.0.0.1:0 --env-file muster.env`,
		Args: cobra.NoArgs,
	}
	load := a.addSettings(command, devDefaults())
	command.Flags().BoolVar(&d.noSample, "no-sample", false, "create no fleet and start no sample game servers")
	command.Flags().BoolVar(&d.alone, "no-machine", false, "do not join the region with this machine")
	command.Flags().IntVar(&d.samples, "sample-servers", 3, "number of sample game servers; 0: only their fleet")
	command.Flags().BoolVar(&d.quiet, "quiet", false, "do not write a line for each call, game session and player")
	command.Flags().BoolVar(&d.test, "test", false, "be a service for automated tests, see above")
	command.Flags().BoolVar(&d.quotas, "gamelift-quotas", false,
		"with --test, refuse what exceeds the quotas of a new AWS account")
	d.printSecret = addPrintSecret(command)
	command.Flags().StringVar(&d.envFile, "env-file", "", "`file` for the export lines (default DATA/"+envFile+")")
	command.RunE = func(command *cobra.Command, _ []string) (err error) {
		if d.config, _, err = load(); err != nil {
			return err
		}
		if d.samples < 0 || d.samples > maxSamples {
			return &misuseError{fmt.Errorf("--sample-servers is %d: must be 0 to %d", d.samples, maxSamples)}
		}
		if d.quotas && !d.test {
			return &misuseError{errors.New("--gamelift-quotas needs --test")}
		}
		if d.test {
			remove, failed := d.forTests(command.Flags().Changed("data"))
			if failed != nil {
				return failed
			}
			defer func() { err = errors.Join(err, remove()) }()
		}
		if d.envFile == "" {
			d.envFile = filepath.Join(d.config.Data, envFile)
		}
		if d.envFile, err = filepath.Abs(d.envFile); err != nil {
			return err
		}
		return d.run(command.Context())
	}
	return command
}

// devReservation is how long a slot waits for its player. A person who copies the player session needs more than the
// minute of GameLift.
const devReservation = 5 * time.Minute

// devDefaults returns the settings of muster dev: local addresses, data in the user's cache and a quiet log.
func devDefaults() muster.Config {
	config := muster.DefaultConfig()
	config.Listen, config.Gateway.Listen = "127.0.0.1:9080", "127.0.0.1:3000"
	config.Gateway.Messages = "api"
	// No limits: all clients have the same address.
	config.Gateway.AddressRate, config.Gateway.PlayerRate, config.Gateway.MaxUnused = 0, 0, 0
	config.LogLevel, config.OpenConsole = "warn", "on"
	config.ReservationTimeout = devReservation
	config.Data = "" // rejected by Validate unless set
	if cache, err := os.UserCacheDir(); err == nil {
		config.Data = filepath.Join(cache, "muster", "dev")
	}
	return config
}

// sourceDev returns the shell command that reads the default muster.env.
func sourceDev() string { return "source " + shellQuote(filepath.Join(devDefaults().Data, envFile)) }

const devLock = "dev.lock" // of the data directory

// development is a run of muster dev.
type development struct {
	*app
	config   muster.Config
	envFile  string
	noSample bool
	alone    bool // no machine joins
	samples  int  // sample game servers
	quiet    bool
	test     bool    // requests of tests are answered
	quotas   bool    // GameLift's are emulated
	talker   *talker // nil: quiet

	printSecret *bool
}

// forTests makes the service one for tests, and returns what removes its data; nothing is removed if the data directory
// was given.
func (d *development) forTests(given bool) (remove func() error, err error) {
	kit := testkit.New()
	if d.quotas {
		kit.EmulateQuotas()
	}
	d.config.Test, d.config.Clock = kit, kit.Clock
	if d.config.SettingOrigins["reservation-timeout"] == "default" {
		d.config.ReservationTimeout = muster.DefaultConfig().ReservationTimeout
	}
	d.noSample, d.alone = true, true
	if given {
		return func() error { return nil }, nil
	}
	if d.config.Data, err = os.MkdirTemp("", "muster-test-"); err != nil {
		return nil, err
	}
	return func() error { return os.RemoveAll(d.config.Data) }, nil
}

// run locks the data directory and serves until ctx ends. It first removes a muster.env left by a killed run, because
// programs wait for that file.
func (d *development) run(ctx context.Context) (err error) {
	if err := server.CheckData(d.config.Data); err != nil {
		return err
	}
	_, missing := os.Stat(d.config.Data)
	if err := os.MkdirAll(d.config.Data, 0o700); err != nil {
		return server.ExplainData(d.config.Data, err)
	}
	if missing != nil {
		defer d.removeUnused()
	}
	lock := flock.New(filepath.Join(d.config.Data, devLock))
	locked, err := lock.TryLock()
	if err != nil {
		return server.ExplainData(d.config.Data, fmt.Errorf("data directory: %w", err))
	}
	if !locked {
		return fmt.Errorf("another muster dev uses %s: use its service, or start another one with --data DIR "+
			"--listen 127.0.0.1:0 --gateway-listen 127.0.0.1:0", d.config.Data)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if err := removeEnvFile(d.envFile); err != nil {
		return err
	}
	return d.serveUntil(ctx)
}

// removeUnused removes the data directory of a service that did not start, if there is nothing in it but the lock.
func (d *development) removeUnused() {
	if left, err := os.ReadDir(d.config.Data); err != nil || len(left) != 1 || left[0].Name() != devLock {
		return
	}
	_ = os.Remove(filepath.Join(d.config.Data, devLock)) // best effort: the next start can use both
	_ = os.Remove(d.config.Data)
}

// serveUntil serves until ctx ends. The sample game servers stop first, while the service still answers.
func (d *development) serveUntil(ctx context.Context) error {
	service, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ready := make(chan muster.Endpoints, 1)
	d.config.Log = d.config.Logger(d.stderr)
	defer d.talk()()
	d.config.Ready = func(e muster.Endpoints) { ready <- e }

	served := make(chan error, 1)
	ended, end := context.WithCancel(ctx) // with ctx or the service
	defer end()
	go func() {
		defer end()
		served <- d.serve(service, d.config)
	}()

	var err error
	select {
	case e := <-ready:
		err = errors.Join(d.offer(ended, e), removeEnvFile(d.envFile))
	case <-ended.Done():
	}
	stop()
	if err = errors.Join(err, <-served); err == nil && !d.test {
		fmt.Fprintln(d.stderr, "\nMuster has stopped. The next start finds its data in", d.config.Data)
	}
	return err
}

// talk begins to show what happens, and returns the function that ends it.
func (d *development) talk() (end func()) {
	if d.quiet {
		return func() {}
	}
	t := d.newTalk(d.config.Log.Handler(), d.samples)
	d.config.Log, d.talker = slog.New(t), t.shared
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { t.shared.run(done) })
	return func() {
		close(done)
		running.Wait()
	}
}

// offer announces the ready service and runs the sample game servers, until ctx ends.
func (d *development) offer(ctx context.Context, e muster.Endpoints) error {
	fmt.Fprintf(d.stderr, "\nThe console is at %s\n\n", d.paletteOf(d.stderr).paint(bold, e.HTTP+"/console/"))
	if d.noSample {
		if err := d.announce(e, ""); err != nil {
			return err
		}
		d.runMachines(ctx, e, e.Region)
		<-ctx.Done()
		return nil
	}
	s, err := newSampleSetup(d, e)
	if err != nil {
		return err
	}
	if err := s.setUp(ctx); ctx.Err() != nil {
		return nil // stopped meanwhile
	} else if err != nil {
		return fmt.Errorf("sample fleet: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		var running sync.WaitGroup
		running.Go(func() { s.keepRunning(ctx) })
		running.Go(func() { d.runMachines(ctx, e, e.Region, sampleLocation) })
		running.Wait()
	}()
	defer func() { stop(); <-stopped }()
	if err := s.awaitServers(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		fmt.Fprintln(d.stderr, "muster: the sample game servers are not ready:", err)
	}
	if err := d.announce(e, s.fleet); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// announce writes the files with addresses and credentials, and prints a welcome.
func (d *development) announce(e muster.Endpoints, fleet string) error {
	variables := environment(e)
	if fleet != "" {
		variables = append(variables, variable{"MUSTER_SAMPLE_FLEET_ID", fleet})
	}
	variables = append(variables, variable{"MUSTER_PID", strconv.Itoa(os.Getpid())})
	profile := filepath.Join(d.config.Data, profileFile)
	if err := atomicfile.Write(profile, []byte(awsProfile(e)), 0o600); err != nil {
		return err
	}
	if err := writeEnvFile(d.envFile, variables); err != nil { // before the welcome, which has commands that read it
		return err
	}
	if !isTerminal(d.stdout) || *d.printSecret {
		fmt.Fprint(d.stdout, exports(d.printable(variables, *d.printSecret)))
	}
	fmt.Fprint(d.stderr, d.welcome(e, fleet))
	d.talker.open(d.now(), e.AccessKey)
	return nil
}

// welcome is what a user needs first. Everything else is in muster.env.
func (d *development) welcome(e muster.Endpoints, fleet string) string {
	read := userDialect(runtime.GOOS, d.getenv("SHELL")).read(d.envFile)
	lines := [][2]string{
		{"environment", read},
		{"AWS API", fmt.Sprintf("%s, region %s, access key %s", e.HTTP, e.Region, e.AccessKey)},
		{"game servers", cmp.Or(e.WS, e.WSS)},
		{"game clients", cmp.Or(e.Gateway, "the session gateway is off")},
		{"process", fmt.Sprint(os.Getpid())},
	}
	ready, hint := "Muster is ready", "The first line is for another terminal: AWS tools there call Muster, for "+
		"GameLift, S3, IAM, STS and CloudWatch.\n"
	switch {
	case d.test:
		ready, hint = "Muster is ready for tests", ""
		lines = append(lines, [2]string{"tests", e.HTTP + "/v1/test"})
	case fleet != "":
		hint += fmt.Sprintf("Then: aws gamelift create-game-session --fleet-id %s --location %s "+
			"--maximum-player-session-count 4\n", fleet, sampleLocation)
	default:
		hint += "Then: aws gamelift list-fleets\n"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s. Ctrl-C stops it.\n\n", ready)
	for _, l := range lines {
		fmt.Fprintf(&text, "  %-13s %s\n", l[0], l[1])
	}
	return text.String() + "\n" + hint
}
