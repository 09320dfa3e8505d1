package sample

import (
	"fmt"
	"strings"

	"github.com/muster-gg/muster/gameserver"
)

// defaultPort is the port of game servers that are given none.
const defaultPort = 7777

// Usage says what Run understands.
const Usage = `flags, in any case and with one dash or two:
  -websocketurl=URL  the service, as RegisterCompute gave it
  -hostid=NAME       the compute
  -fleetid=ID        the fleet
  -authtoken=TOKEN   as GetComputeAuthToken gave it
  -processid=ID      default: a new one
  -port=PORT         for players; 0 for any free port; default 7777
  -address=IP        to listen on; default 127.0.0.1
  -allowunticketed   admits players without a player session
  -linger            stays when the last player has left
  -log               prints what happens
  -logsecrets        prints tokens in full`

// options are what the command line says.
type options struct {
	gameserver.Args
	address         string
	allowUnticketed bool
	linger          bool
	log             bool
	logSecrets      bool
}

// parse reads the command line.
func parse(args []string) (options, error) {
	known, err := gameserver.ParseArgs(args)
	if err != nil {
		return options{}, fmt.Errorf("%w\n%s", err, Usage)
	}
	o := options{Args: known, address: "127.0.0.1"}
	if !o.HasPort {
		o.Port = defaultPort
	}
	switches := map[string]*bool{"allowunticketed": &o.allowUnticketed, "linger": &o.linger, "log": &o.log, "logsecrets": &o.logSecrets}
	for i := 0; i < len(known.Rest); i++ {
		name, value, given := strings.Cut(strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(known.Rest[i], "-"), "-")), "=")
		dashed := strings.HasPrefix(known.Rest[i], "-")
		on := switches[name]
		switch {
		case dashed && on != nil && !given:
			*on = true
		case dashed && name == "address" && given:
			o.address = value
		case dashed && name == "address" && i+1 < len(known.Rest):
			i++
			o.address = known.Rest[i]
		default:
			return options{}, fmt.Errorf("unknown argument %q\n%s", known.Rest[i], Usage)
		}
	}
	if o.ProcessID == "" {
		o.ProcessID = gameserver.NewProcessID()
	}
	return o, nil
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
