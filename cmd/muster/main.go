// Command muster is the whole of Muster in one binary: the service, a local
// set-up for development, and the tools around them. `muster help` lists its
// subcommands.
//
// Data goes to standard output and talk to standard error. The exit status is 0
// when all went well, 1 when something failed and 2 for misuse.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/muster-gg/muster"
	"github.com/spf13/cobra"
)

const (
	exitOK      = 0
	exitFailure = 1
	exitMisuse  = 2
	exitKilled  = 130 // as shells report a program that an interrupt ended
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // lives as long as the process
		<-signals
		cancel()
		<-signals
		os.Exit(exitKilled)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// An app is what the subcommands share.
type app struct {
	environ        []string // NAME=value
	stdin          io.Reader
	stdout, stderr io.Writer
	serve          func(context.Context, muster.Config) error // runService, except in tests
	started        bool                                       // the arguments were understood and a subcommand runs
}

// run executes the command line and returns the exit status. The end of ctx
// asks long-running subcommands to stop, which is no failure.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{environ: environ, stdin: stdin, stdout: stdout, stderr: stderr, serve: runService}
	return a.run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.rootCommand()
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(a.stderr, "muster:", err)
	if _, misuse := errors.AsType[*misuseError](err); a.started && !misuse {
		return exitFailure
	}
	fmt.Fprintf(a.stderr, "Run '%s --help' for what it takes.\n", command.CommandPath())
	return exitMisuse
}

// A misuseError says that a subcommand was asked for something it cannot do:
// the caller must change the command line, the environment or the settings file.
type misuseError struct{ error }

// Unwrap returns what was wrong.
func (e *misuseError) Unwrap() error { return e.error }

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "muster",
		Short: "An open, self-hosted game-session service that speaks Amazon GameLift's protocols",
		Long: `Muster is a game-session service that you run yourself. It speaks the wire
protocols of Amazon GameLift Servers, so unchanged clients, server SDKs and
tools work against it.`,
		Example: `  muster dev                # a local service, ready to use
  muster serve              # a service with settings of your own
  muster config             # the settings in force, and where they came from`,
		SilenceErrors: true, // run prints them, once
		SilenceUsage:  true,
		PersistentPreRun: func(*cobra.Command, []string) {
			a.started = true
		},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.AddCommand(a.demoCommand(), a.devCommand(), a.serveCommand(), a.gatewayCommand(), a.matchCommand(), a.clusterCommand(), a.backupCommand(), a.restoreCommand(), a.inspectCommand(), a.benchCommand(), a.sampleServerCommand(), a.configCommand(), a.versionCommand())
	return root
}
