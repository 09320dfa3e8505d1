package sessions

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/muster-gg/muster/examples/arena/game"
)

// asProgram is the environment variable that makes the test's binary be one of
// programs.
const asProgram = "WALKTHROUGH_PROGRAM"

// programs are the processes that tests start, by name.
var programs = map[string]func(context.Context, []string) error{
	"arena":     func(ctx context.Context, args []string) error { return game.Run(ctx, args, os.Stdout) },
	"lanplayer": func(ctx context.Context, args []string) error { return playOnLAN(ctx, args, os.Stdin, os.Stdout) },
}

func TestMain(m *testing.M) {
	if program, ok := programs[os.Getenv(asProgram)]; ok {
		os.Exit(runProgram(program))
	}
	forgetEnvironment()
	list := flag.Bool("list-marks", false, "print the items of the walk-through with their marks")
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		if *list {
			listMarks(os.Stdout, slices.Concat(gatewayItems, clientItems))
		}
		os.Exit(status)
	}))
}

func runProgram(program func(context.Context, []string) error) (status int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := program(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// forgetEnvironment keeps the settings of whoever runs the tests out of them.
func forgetEnvironment() {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "GAMELIFT_") {
			_ = os.Unsetenv(name)
		}
	}
	for _, name := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		_ = os.Setenv(name, os.DevNull)
	}
	_ = os.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}
