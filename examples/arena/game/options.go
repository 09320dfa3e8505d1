package game

import (
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/muster-gg/muster/examples/arena/cmdline"
	"github.com/muster-gg/muster/examples/arena/link"
	"github.com/muster-gg/muster/gameserver"
)

const (
	defaultPort     = 7777 // of game servers that are given none
	defaultTickRate = 30
	maxTickRate     = 120
	maxPlayers      = 1000 // eight packets a tick: see queuePackets
)

// Usage says what Run understands.
const Usage = `flags, in any case and with one dash or two:
  -websocketurl=URL  the service, as RegisterCompute gave it
  -hostid=NAME       the compute
  -fleetid=ID        the fleet
  -authtoken=TOKEN   as GetComputeAuthToken gave it
  -processid=ID      default: a new one
  -port=PORT         for players; 0 for any free port; default 7777
  -address=IP        to listen on; default 127.0.0.1
` + link.ServerUsage + `
  -tickrate=N        ticks per second, 1 to 120; default 30
  -maxplayers=N      at one time, up to 1000; default: as the game session says,
                     whose player sessions the service counts
  -allowunticketed   admits players without a player session
  -linger            stays when the last player has left
  -patience=TIME     how long to wait for the first player of a game session, such
                     as 2m, before the process ends; default: for ever
  -log               prints what happens
  -logsecrets        prints tokens in full`

// options are what the command line says.
type options struct {
	gameserver.Args
	link            link.Server
	address         string
	tickRate        int
	maxPlayers      int
	allowUnticketed bool
	linger          bool
	patience        time.Duration // 0: without end
	log             bool
	logSecrets      bool
	helloLimit      time.Duration // no flag: 0 for the default of the handshake
}

func parse(args []string) (options, error) {
	o, err := parseFlags(args)
	if err != nil {
		return options{}, fmt.Errorf("%w\n%s", err, Usage)
	}
	if !o.HasPort {
		o.Port = defaultPort
	}
	if o.ProcessID == "" {
		o.ProcessID = gameserver.NewProcessID()
	}
	return o, nil
}

func parseFlags(args []string) (o options, err error) {
	if o.Args, err = gameserver.ParseArgs(args); err != nil {
		return o, err
	}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	o.link.Register(flags)
	flags.StringVar(&o.address, "address", "127.0.0.1", "")
	flags.IntVar(&o.tickRate, "tickrate", defaultTickRate, "")
	flags.IntVar(&o.maxPlayers, "maxplayers", 0, "")
	flags.BoolVar(&o.allowUnticketed, "allowunticketed", false, "")
	flags.BoolVar(&o.linger, "linger", false, "")
	flags.DurationVar(&o.patience, "patience", 0, "")
	flags.BoolVar(&o.log, "log", false, "")
	flags.BoolVar(&o.logSecrets, "logsecrets", false, "")
	if err := cmdline.Parse(flags, o.Rest); err != nil {
		return o, err
	}
	if o.tickRate < 1 || o.tickRate > maxTickRate {
		return o, fmt.Errorf("flag -tickrate: %d is not 1 to %d", o.tickRate, maxTickRate)
	}
	if o.patience < 0 {
		return o, fmt.Errorf("flag -patience: %v is negative", o.patience)
	}
	if o.maxPlayers < 0 || o.maxPlayers > maxPlayers {
		return o, fmt.Errorf("flag -maxplayers: %d is not 0 to %d", o.maxPlayers, maxPlayers)
	}
	return o, o.link.Validate()
}

// redact leaves the last four characters of a secret.
func (o options) redact(secret string) string {
	const shown = 4
	if o.logSecrets || secret == "" {
		return secret
	}
	return "…" + secret[max(len(secret)-shown, len(secret)/2):]
}

// commandLine is the command line as it may be printed.
func (o options) commandLine(args []string) string {
	line := strings.Join(args, " ")
	if o.AuthToken == "" {
		return line
	}
	return strings.ReplaceAll(line, o.AuthToken, o.redact(o.AuthToken))
}
