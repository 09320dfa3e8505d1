// Command muster is the service, a local set-up for development, and the tools around them, in one binary. `muster
// help` lists its subcommands.
//
// Data goes to standard output, messages to standard error. The exit status is 0 for success, 1 for a failure and 2 for
// misuse.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/jonboulle/clockwork"
	"github.com/spf13/cobra"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/release"
)

const (
	exitOK      = 0
	exitFailure = 1
	exitMisuse  = 2
	exitKilled  = 130 // as shells report a program ended by an interrupt
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // lives as long as the process
		cancel(stopSignal{<-signals})
		<-signals
		os.Exit(exitKilled)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// A stopSignal is the cause of a context that a signal has cancelled.
type stopSignal struct{ os.Signal }

func (s stopSignal) Error() string        { return "signal " + s.String() }
func (s stopSignal) Is(target error) bool { return target == context.Canceled } //nolint:errorlint // as errors.Is asks

// An app is what the subcommands share.
type app struct {
	environ        []string // NAME=value
	stdin          io.Reader
	stdout, stderr io.Writer
	serve          func(context.Context, muster.Config) error // runService, except in tests
	clock          clockwork.Clock                            // nil: the real one
	started        bool                                       // the arguments are valid and a subcommand runs
	agent          string                                     // User-Agent of calls
}

// run executes the command line and returns the exit status. The end of ctx stops long-running subcommands, which is no
// failure.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{environ: environ, stdin: stdin, stdout: stdout, stderr: stderr, serve: runService}
	return a.run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.rootCommand()
	root.SetArgs(agentArguments(args))
	command, err := root.ExecuteContextC(ctx)
	if err == nil || errors.Is(err, errHelp) {
		return exitOK
	}
	if errors.Is(err, errShown) {
		return exitFailure
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code
	}
	fmt.Fprintln(a.stderr, "muster:", err)
	if _, misuse := errors.AsType[*misuseError](err); a.started && !misuse {
		return exitFailure
	}
	fmt.Fprintf(a.stderr, "Run '%s --help' for usage.\n", strings.TrimSuffix(command.CommandPath(), " help"))
	return exitMisuse
}

// errShown is a failure that the output already tells.
var errShown = errors.New("it is shown")

// A misuseError is the caller's: the command line, the environment or the settings file must change.
type misuseError struct{ error }

func (e *misuseError) Unwrap() error { return e.error }

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "muster",
		Short: "An open, self-hosted game-session service that speaks Amazon GameLift's protocols",
		Long: `Muster is a game-session service that you run yourself. It speaks the wire
protocols of Amazon GameLift Servers, so unchanged clients, server SDKs and
tools work against it.`,
		Example: `  muster demo               # a game from end to end, in some seconds
  muster dev                # a local service, ready to use
  muster local              # in place of GameLift Local
  muster serve              # a service with your settings
  muster config             # the settings in force and their sources`,
		Version:       release.Current().String(),
		SilenceErrors: true, // run prints them, once
		SilenceUsage:  true,
		PersistentPreRunE: func(command *cobra.Command, _ []string) error {
			if err := showAll(command); err != nil {
				return err
			}
			// Cobra checks them later, when an error would not count as misuse.
			err := cmp.Or(command.ValidateRequiredFlags(), command.ValidateFlagGroups())
			a.started = err == nil
			a.agent = userAgent(command)
			return err
		},
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n") // as muster version
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	a.addCommands(root)
	root.SetHelpCommand(helpCommand(root))
	explainArguments(root)
	shortenHelp(root)
	a.addCompletion(root)
	return root
}

// addCommands adds the subcommands, in the groups of the help.
func (a *app) addCommands(root *cobra.Command) {
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"service", "Run a service:", []*cobra.Command{a.devCommand(), a.localCommand(), a.serveCommand(),
			a.gatewayCommand(), a.demoCommand()}},
		{"machines", "Run game servers:", []*cobra.Command{a.agentCommand(), a.runCommand(), a.machineCommand(),
			a.pushCommand(), a.weightsCommand()}},
		{"access", "Sign in, and manage access:", []*cobra.Command{a.configureCommand(), a.loginCommand(),
			a.logoutCommand(), a.credentialsCommand(), a.userCommand(), a.groupCommand(), a.roleCommand(),
			a.assignCommand(), a.unassignCommand(), a.keyCommand(), a.policyCommand(), a.providerCommand(),
			a.auditCommand(), a.unlockCommand(), a.rootKeyCommand(), a.secretCommand()}},
		{"watch", "Watch a region:", []*cobra.Command{a.getCommand(), a.eventsCommand(), a.logsCommand(),
			a.topCommand()}},
		{"data", "Keep and inspect data:", []*cobra.Command{a.backupCommand(), a.restoreCommand(),
			a.inspectCommand()}},
		{"cluster", "Run a cluster:", []*cobra.Command{a.clusterCommand()}},
		{"matchmaking", "Match players:", []*cobra.Command{a.matchCommand()}},
		{"tools", "Other tools:", []*cobra.Command{a.configCommand(), a.doctorCommand(), a.healthCommand(),
			a.benchCommand(), a.botsCommand(), a.sampleServerCommand(), a.versionCommand(), a.hashPasswordsCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, command := range g.commands {
			command.GroupID = g.id
			root.AddCommand(command)
		}
	}
	root.SetCompletionCommandGroupID("tools")
}
