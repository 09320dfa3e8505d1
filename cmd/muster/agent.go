package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/agent"
	"github.com/muster-gg/muster/internal/agent/plan"
	"github.com/muster-gg/muster/internal/agent/supervisor"
)

const (
	agentUse     = "agent"
	superviseUse = "supervise"
)

// agentFlags are the options of muster agent: those of the official agent, and its own. Source: GameLift Agent,
// AgentCliParser.
type agentFlags struct {
	*app
	fleet, compute, region, location string
	ip, dns, certificate             string
	endpoint, credentials            string
	runtime                          string
	logBucket, agentBucket, logPath  string
	logCredentials                   string

	data, caFile, ports string
	keep                bool
	metrics             metricsFlags

	asMachine bool
	machine   machineFlags
}

// agentShort are the short options of several letters, which the official agent has.
var agentShort = map[string]string{
	"loc": "location", "ip": "ip-address", "dns": "dns-name", "cp": "certificate-path",
	"gleo": "gamelift-endpoint-override", "glc": "gamelift-credentials", "rc": "runtime-configuration",
	"gslb": "game-session-log-bucket", "galb": "gamelift-agent-log-bucket", "galp": "gamelift-agent-log-path",
	"lc": "log-credentials",
}

// agentArguments returns the arguments of muster agent with long options in place of those short ones. Others are
// unchanged.
func agentArguments(args []string) []string {
	if len(args) == 0 || args[0] != agentUse {
		return args
	}
	long := []string{agentUse}
	for _, arg := range args[1:] {
		if bare, short := strings.CutPrefix(arg, "-"); short {
			name, value, given := strings.Cut(bare, "=")
			if to := agentShort[name]; to != "" {
				arg = "--" + to
				if given {
					arg += "=" + value
				}
			}
		}
		long = append(long, arg)
	}
	return long
}

func (a *app) agentCommand() *cobra.Command {
	f := &agentFlags{app: a}
	command := &cobra.Command{
		Use:   agentUse,
		Short: "Run the server processes of a compute, in place of GameLift's agent",
		Long: `Run a compute of an Anywhere fleet until Ctrl-C: register it, start the server
processes of the fleet's runtime configuration, start them again when they exit,
and report their exits. It has the options of GameLift's agent, also the short
ones such as -loc, and its environment variables, which have precedence.

The game servers run on when the agent is killed, and the next run adopts them.
Ctrl-C ends them: the service asks them to end, and those that are left after 30
seconds are ended. {port} in the parameters of the runtime configuration is
replaced by a free port of --port-range, which is MUSTER_PORT in the environment.

With --machine, join a location of a region with this machine instead, and run the
instances of managed fleets that the service places here, until Ctrl-C: their
builds are downloaded and installed once, and each instance runs the server
processes of its fleet in a directory of its own. The first join needs a token of
"muster machine token create"; the machine then has a key in its data directory,
and needs none.`,
		Example: `  muster agent -f fleet-1234 -c box-1 -r us-west-2 -loc custom-lab -ip 203.0.113.9
  muster agent -f fleet-1234 -c box-1 -r us-west-2 -loc custom-lab -ip 203.0.113.9 \
    -rc '{"ServerProcesses":[{"LaunchPath":"./server","Parameters":"-port={port}","ConcurrentExecutions":2}]}'
  muster agent --machine --service wss://games.example.com:9080 --token-file token`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := f.checkMode(command.Flags()); err != nil {
				return &misuseError{err}
			}
			if os.Getpid() == 1 {
				return runAsInit(command.Context())
			}
			if f.asMachine {
				return f.runMachine(command.Context())
			}
			return f.run(command.Context())
		},
	}
	f.addFlags(command)
	command.AddCommand(a.superviseCommand())
	return command
}

func (f *agentFlags) addFlags(command *cobra.Command) {
	s := command.Flags()
	s.StringVarP(&f.fleet, "fleet-id", "f", "", "fleet (environment GAMELIFT_FLEET_ID)")
	s.StringVarP(&f.compute, "compute-name", "c", "", "name of this compute (environment GAMELIFT_COMPUTE_NAME)")
	s.StringVarP(&f.region, "region", "r", "", "region (environment GAMELIFT_REGION)")
	s.StringVar(&f.location, "location", "", "location (-loc; environment GAMELIFT_LOCATION, else GAMELIFT_REGION)")
	s.StringVar(&f.ip, "ip-address", "", "IP address for players (-ip)")
	s.StringVar(&f.dns, "dns-name", "", "DNS name for players (-dns)")
	s.StringVar(&f.certificate, "certificate-path", "", "directory of the TLS certificate of game servers (-cp)")
	s.StringVar(&f.endpoint, "gamelift-endpoint-override", "",
		"base URL of the API (-gleo; environment GAMELIFT_ENDPOINT, else AWS_ENDPOINT_URL)")
	s.StringVar(&f.credentials, "gamelift-credentials", "",
		"instance-profile, environment-variable or container (-glc)")
	s.StringVar(&f.runtime, "runtime-configuration", "", "runtime configuration in JSON, in place of the fleet's (-rc)")
	s.StringVar(&f.logBucket, "game-session-log-bucket", "", "without effect (-gslb)")
	s.StringVar(&f.agentBucket, "gamelift-agent-log-bucket", "", "without effect (-galb)")
	s.StringVar(&f.logPath, "gamelift-agent-log-path", "", "without effect: the log goes to standard error (-galp)")
	s.StringVar(&f.logCredentials, "log-credentials", "", "without effect (-lc)")
	s.StringVar(&f.data, "data", "", "directory of this agent alone (default muster/agent in the user's cache "+
		"directory; with --machine muster-machine)")
	s.StringVar(&f.ports, "port-range", "20000-29999", "ports for {port} in parameters; with --machine ports for games")
	s.StringVar(&f.caFile, "ca-file", "", "PEM file of the CA to trust (environment MUSTER_CA_FILE)")
	s.BoolVar(&f.keep, "keep-processes", false, "leave the game servers running when the agent is stopped")
	s.BoolVar(&f.asMachine, "machine", false, "join a location with this machine")
	f.machine.addFlags(command)
	f.metrics.addFlags(command)
}

// computeOptions have no effect with --machine.
var computeOptions = []string{"fleet-id", "compute-name", "region", "ip-address", "dns-name", "certificate-path",
	"gamelift-endpoint-override", "gamelift-credentials", "runtime-configuration", "game-session-log-bucket",
	"gamelift-agent-log-bucket", "gamelift-agent-log-path", "log-credentials"}

// checkMode refuses options that have no effect with --machine, or without it.
func (f *agentFlags) checkMode(given interface{ Changed(name string) bool }) error {
	without, problem := machineOptions, "--%s needs --machine"
	if f.asMachine {
		without, problem = computeOptions, "--%s has no effect with --machine"
	}
	for _, name := range without {
		if given.Changed(name) {
			return fmt.Errorf(problem, name)
		}
	}
	return nil
}

// dataDir returns the directory of the agent.
func (f *agentFlags) dataDir() (string, error) {
	if f.data != "" || f.asMachine {
		return filepath.Abs(cmp.Or(f.data, "muster-machine"))
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("--data must be given: %w", err)
	}
	return filepath.Join(cache, "muster", agentUse), nil
}

// complete applies the environment, which has precedence.
func (f *agentFlags) complete() error {
	if f.getenv("GAMELIFT_COMPUTE_TYPE") == "CONTAINER" {
		return errors.New("GAMELIFT_COMPUTE_TYPE is CONTAINER: computes of container fleets are not supported")
	}
	region := f.getenv("GAMELIFT_REGION")
	f.fleet = cmp.Or(f.getenv("GAMELIFT_FLEET_ID"), f.fleet)
	f.compute = cmp.Or(f.getenv("GAMELIFT_COMPUTE_NAME"), f.compute)
	f.location = cmp.Or(f.getenv("GAMELIFT_LOCATION"), region, f.location)
	f.region = cmp.Or(region, f.region, f.getenv("AWS_REGION"), f.getenv("AWS_DEFAULT_REGION"))
	f.endpoint = cmp.Or(f.getenv("GAMELIFT_ENDPOINT"), f.endpoint)
	for _, option := range []struct{ name, value string }{
		{"fleet-id", f.fleet}, {"compute-name", f.compute}, {"region", f.region}, {"location", f.location},
	} {
		if option.value == "" {
			return fmt.Errorf("--%s must be given", option.name)
		}
	}
	switch f.credentials {
	case "", "instance-profile", credentialsEnvironment, "container":
		return nil
	}
	return fmt.Errorf("--gamelift-credentials is %q: must be instance-profile, %s or container", f.credentials,
		credentialsEnvironment)
}

// gameEnviron returns the variables of game servers, which trust the CA that the agent trusts: gameserver reads
// MUSTER_CA_FILE, the SDK for Go SSL_CERT_FILE. One that is set stays.
func (f *agentFlags) gameEnviron() []string {
	ca := cmp.Or(f.caFile, f.getenv("MUSTER_CA_FILE"), f.getenv("AWS_CA_BUNDLE"))
	if ca == "" {
		return f.environ
	}
	if absolute, err := filepath.Abs(ca); err == nil { // game servers run in directories of their own
		ca = absolute
	}
	environ := slices.Clone(f.environ)
	for _, name := range []string{"MUSTER_CA_FILE", "SSL_CERT_FILE"} {
		if f.getenv(name) == "" {
			environ = append(environ, name+"="+ca)
		}
	}
	return environ
}

// config returns the configuration of the agent. The error is one of the options.
func (f *agentFlags) config(ctx context.Context) (c agent.Config, err error) {
	if err := f.complete(); err != nil {
		return c, err
	}
	if f.data, err = f.dataDir(); err != nil {
		return c, err
	}
	if err := agent.CheckData(f.data); err != nil {
		return c, err
	}
	c = agent.Config{Fleet: f.fleet, Compute: f.compute, Data: f.data, Environ: f.gameEnviron(), Keep: f.keep,
		Log: slog.New(slog.NewTextHandler(f.stderr, nil))}
	low, high, err := parsePorts(f.ports)
	if err != nil {
		return c, err
	}
	c.Ports = agent.NewPorts(low, high)
	if f.runtime != "" {
		if c.Runtime, err = agent.ParseRuntime([]byte(f.runtime)); err != nil {
			return c, fmt.Errorf("--runtime-configuration: %w", err)
		}
		c.Runtime = append([]plan.Entry{}, c.Runtime...) // not nil: in place of the fleet's
	}
	game := "/local/game"
	c.NoticeFile = "/local/GameLift/Agent/termination.txt"
	if runtime.GOOS == "windows" {
		game, c.NoticeFile = `C:\Game`, `C:\GameLift\Agent\termination.txt`
	}
	if info, err := os.Stat(game); err == nil && info.IsDir() {
		c.WorkDir = game
	}
	c.API, c.TLS, err = f.api(ctx)
	return c, err
}

func (f *agentFlags) run(ctx context.Context) (err error) {
	c, err := f.config(ctx)
	if err != nil {
		return &misuseError{err}
	}
	for name, value := range map[string]string{"game-session-log-bucket": f.logBucket,
		"gamelift-agent-log-bucket": f.agentBucket, "gamelift-agent-log-path": f.logPath} {
		if value != "" {
			c.Log.Warn("option without effect: logs are kept on this machine", "option", name, "data", f.data)
		}
	}
	if c.Supervisor, err = supervisors(); err != nil {
		return err
	}
	return alone(f.data, func() error {
		return f.metrics.during(ctx, c.Log, func(ctx context.Context, t agent.Telemetry) error {
			c.Telemetry = t
			return agent.Run(ctx, c)
		})
	})
}

// supervisors returns the command that runs a supervisor in this program.
func supervisors() (func(dir string) *exec.Cmd, error) {
	program, err := os.Executable()
	return func(dir string) *exec.Cmd { return exec.Command(program, agentUse, superviseUse, dir) }, err
}

// alone calls run while no other agent can use the data directory.
func alone(data string, run func() error) (err error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(data, "agent.lock"))
	locked, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if !locked {
		return fmt.Errorf("another muster agent uses %s: choose a directory with --data", data)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return run()
}

// parsePorts reads a range such as 20000-29999.
func parsePorts(text string) (low, high int, err error) {
	from, to, ok := strings.Cut(text, "-")
	l, err1 := strconv.ParseUint(from, 10, 16)
	h, err2 := strconv.ParseUint(to, 10, 16)
	if !ok || err1 != nil || err2 != nil || l == 0 || l > h {
		return 0, 0, fmt.Errorf("--port-range is %q: must be two ports such as 20000-29999", text)
	}
	return int(l), int(h), nil
}

// superviseCommand is the program that muster agent starts for each game server.
func (a *app) superviseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   superviseUse + " DIR",
		Short: "Run one game server for an agent",
		Long: `Run one game server until it ends. muster agent starts it with a directory, and
with what to run on standard input.`,
		Example: "  muster agent supervise DIR",
		Hidden:  true,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return supervisor.Supervise(args[0], os.Stdin, os.Stdout)
		},
	}
}
