package bot

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/muster-gg/muster/examples/arena/cmdline"
	"github.com/muster-gg/muster/examples/arena/link"
)

// The exit statuses of Main.
const (
	ExitOK      = 0
	ExitFailure = 1 // the server could not be reached, or hung up
	ExitMisuse  = 2 // of the command line
	ExitRefused = 3 // the server has not let the bot in
)

// Usage says what Main understands.
const Usage = `flags, in any case and with one dash or two:
  -server=HOST:PORT  where to play; default 127.0.0.1:7777
  -playersession=ID  as CreatePlayerSession gave it
  -player=NAME       for the other players
` + link.ClientUsage + `
  -seconds=N         how long; default 0: until Ctrl+C
  -say=TEXT          what to say when the first other player is there
  -quiet             does not print where the others are
What comes on standard input is said too, line by line.`

// options are what the command line says.
type options struct {
	Config
	link    link.Client
	seconds float64
	say     string
	quiet   bool
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.StringVar(&o.Server, "server", "127.0.0.1:7777", "")
	flags.StringVar(&o.PlayerSession, "playersession", "", "")
	flags.StringVar(&o.Name, "player", "", "")
	o.link.Register(flags)
	flags.Float64Var(&o.seconds, "seconds", 0, "")
	flags.StringVar(&o.say, "say", "", "")
	flags.BoolVar(&o.quiet, "quiet", false, "")
	if err = cmdline.Parse(flags, args); err == nil {
		o.Transport, err = o.link.Open()
	}
	return o, err
}

// Main is the whole life of the program: it joins, plays, prints what happens to stdout, and returns its exit status.
// args do not begin with the program's name. A line of stdin, if that is not nil, is said.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, Usage)
		return ExitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "%v\n%s\n", err, Usage)
		return ExitMisuse
	}
	err = play(ctx, o, stdin, stdout)
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		fmt.Fprintln(stdout, refused)
		return ExitRefused
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return ExitFailure
	}
	return ExitOK
}

// play joins, plays for as long as wanted, and leaves.
func play(ctx context.Context, o options, stdin io.Reader, stdout io.Writer) (err error) {
	out := &reporter{to: stdout, quiet: o.quiet}
	o.Welcomed, o.Observe = out.welcomed, out.observe
	b, err := Join(ctx, o.Config)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, b.Leave())
		out.summary(b.RTT())
	}()
	if o.seconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(o.seconds*float64(time.Second)))
		defer cancel()
	}
	if stdin != nil {
		go b.sayLines(stdin) // ends with the input: reading cannot be interrupted
	}
	var greeting sync.WaitGroup
	defer greeting.Wait()
	if o.say != "" {
		greeting.Go(func() { b.greet(ctx, o.say) })
	}
	return b.Run(ctx)
}

// greet says something as soon as another player is there.
func (b *Bot) greet(ctx context.Context, text string) {
	company := func(w World) bool { return len(w.Players) > 1 }
	if b.Until(ctx, company) == nil {
		_ = b.Say(text) // a bot that cannot talk any more ends, and says why
	}
}

// sayLines says what it reads, until that ends or the bot has left.
func (b *Bot) sayLines(from io.Reader) {
	lines := bufio.NewScanner(from)
	for lines.Scan() && b.Say(lines.Text()) == nil {
	}
}
