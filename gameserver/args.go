package gameserver

import (
	"fmt"
	"strconv"
	"strings"
)

// Args are the arguments of a game server's command line.
type Args struct {
	ServerParameters
	Port    int      // 0 for any free one; see HasPort
	HasPort bool     // a port was given
	Rest    []string // the arguments that ParseArgs does not know, in order
}

// ParseArgs reads the flags that game servers are commonly started with:
//
//	-websocketurl=wss://… -hostid=… -fleetid=… -authtoken=… -processid=… -port=7777
//
// A name may be in any case and have one dash or two; its value follows after "=" or as the next argument. Everything
// else is in Rest. Of a repeated flag, the last one counts. The error names a flag without a value, or an invalid port.
func ParseArgs(args []string) (Args, error) {
	var a Args
	var port string
	flags := map[string]*string{
		"websocketurl": &a.WebSocketURL, "hostid": &a.HostID, "fleetid": &a.FleetID, "authtoken": &a.AuthToken,
		"processid": &a.ProcessID, "port": &port,
	}
	for i := 0; i < len(args); i++ {
		name, value, given := cutFlag(args[i])
		to := flags[name]
		if to == nil {
			a.Rest = append(a.Rest, args[i])
			continue
		}
		if !given && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			i++
			value, given = args[i], true
		}
		if !given {
			return Args{}, fmt.Errorf("flag -%s needs a value", name)
		}
		*to = value
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return Args{}, fmt.Errorf("flag -port: %q is no port number", port)
		}
		a.Port, a.HasPort = int(n), true
	}
	return a, nil
}

// cutFlag splits -name=value. The name is in lower case, or "" if arg is not a flag.
func cutFlag(arg string) (name, value string, given bool) {
	bare, ok := strings.CutPrefix(arg, "-")
	if !ok {
		return "", "", false
	}
	bare = strings.TrimPrefix(bare, "-")
	name, value, given = strings.Cut(bare, "=")
	return strings.ToLower(name), value, given
}
