package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/serversdk/legacy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Where muster local serves its API, and the credentials to call it with: it accepts any.
const (
	localEndpoint = "http://127.0.0.1:8080"
	localKey      = "local" // access key, secret and region
)

const (
	doctorTimeout   = 10 * time.Second // of the call of the service
	maxLegacyReport = 16 << 20         // bytes
)

// legacyPorts has the ports that are fixed in old server SDKs, and what they speak there.
var legacyPorts = map[int]string{5757: "socket.io", 5758: "HTTP", 5759: "WebSocket"}

// A doctor is a run of muster doctor.
type doctor struct {
	*operatorCall
	ports          []int
	legacy, asJSON bool
	now            func() time.Time
	probes         probes // realProbes, except in tests

	settings   func() (muster.Config, config.Origins, error)
	file       func() string // of the settings; "": none
	noService  bool          // none was named
	incomplete error         // why the service cannot be called
}

func (a *app) doctorCommand() *cobra.Command {
	d := &doctor{operatorCall: &operatorCall{app: a}, now: time.Now, probes: realProbes()}
	return d.command()
}

func (d *doctor) command() *cobra.Command {
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Find out why a service does not run, or old game servers do not connect",
		Long: `Check this machine, the settings and the service, and print what to do about each
problem. The settings are those of "muster serve", with the same flags (but
--legacy), variables MUSTER_… and file. The checks are:

  settings      each is valid
  clock         synchronised, and that of the service
  ports         each address is free, or this service's
  disk          the data directory is writable; free space; time of an fsync
  descriptors   limit of open files
  certificates  files, names and dates
  keys          files of secrets, and the access key of the calls
  engine        journals of the shards; of a stopped service: they can be opened
  cluster       the other nodes are reachable, up and ready

Run it as the user of the service. It exits with status 1 if a check fails; warnings
do not count. The service that is called, and its credentials, are those of the AWS
CLI's environment; without an endpoint none is called.

With --legacy it finds out why game servers with the old server SDKs 3 and 4 do not
connect. These SDKs dial fixed ports of their own machine: 5757 (socket.io), 5758
(HTTP), 5759 (WebSocket). Run this on the machine of the game servers. It prints

  - which process listens on each of the ports; only Linux shows its name
  - whether the service listens there
  - each connected game server: its state, last request and last error, and
    the calls that it should have made

It exits with status 1 if another process has one of the ports, the service gives no
report or has no such ports, or a game server misses a call. Without an endpoint it
calls ` + localEndpoint + `, the API of "muster local"; without credentials, it signs
with access key, secret and region "` + localKey + `", which "muster local" accepts.
In a cluster, call the node on this machine.`,
		Example: `  muster doctor
  sudo -u muster muster doctor --config /etc/muster/muster.toml
  muster doctor --data /var/lib/muster --tls-cert cert.pem --tls-key key.pem
  ` + sourceDev() + `; muster doctor --data ~/.cache/muster/dev --listen 127.0.0.1:9080
  muster doctor --legacy`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := d.check(command.Flags()); err != nil {
				return &misuseError{err}
			}
			if !d.legacy {
				d.incomplete = d.operatorCall.complete(command.Context())
				return d.examine(command.Context())
			}
			if err := d.complete(command.Context()); err != nil {
				return &misuseError{err}
			}
			return d.run(command.Context())
		},
	}
	d.addFlags(command)
	f := command.Flags()
	f.BoolVar(&d.legacy, "legacy", false, "examine the ports and game servers of server SDKs 3 and 4")
	f.IntSliceVar(&d.ports, "ports", []int{5757, 5758, 5759}, "ports to examine with --legacy")
	f.BoolVar(&d.asJSON, "json", false, "print JSON")
	d.settings = d.addSettings(command, muster.DefaultConfig())
	d.file = f.Lookup("config").Value.String
	return command
}

// check checks the flags.
func (d *doctor) check(given *pflag.FlagSet) (err error) {
	given.Visit(func(f *pflag.Flag) {
		if _, setting := f.Value.(*settingFlag); d.legacy && (setting || f.Name == "config") {
			err = fmt.Errorf("--%s cannot be combined with --legacy: it calls a running service", f.Name)
		}
	})
	if err != nil {
		return err
	}
	for _, port := range d.ports {
		if port < 1 || port > 65535 {
			return fmt.Errorf("--ports has %d: must be 1 to 65535", port)
		}
	}
	return nil
}

// complete fills in what the flags lack, from the environment or for muster local.
func (d *doctor) complete(ctx context.Context) error {
	if d.profile != "" {
		return d.operatorCall.complete(ctx)
	}
	d.service = cmp.Or(d.service, d.endpoint(), localEndpoint)
	k := &d.keys
	k.Region = cmp.Or(k.Region, d.getenv("AWS_REGION"), d.getenv("AWS_DEFAULT_REGION"), localKey)
	if cmp.Or(k.AccessKey, k.SecretKey, d.getenv("AWS_ACCESS_KEY_ID"), d.getenv("AWS_SECRET_ACCESS_KEY")) == "" {
		k.AccessKey, k.SecretKey = localKey, localKey
	}
	return d.operatorCall.complete(ctx)
}

// run prints the diagnosis. Its error lists the problems.
func (d *doctor) run(ctx context.Context) error {
	found := d.diagnose(ctx)
	var out bytes.Buffer
	if d.asJSON {
		if err := json.NewEncoder(&out).Encode(found); err != nil {
			return err
		}
	} else {
		found.write(&out, d.now())
	}
	if _, err := d.stdout.Write(out.Bytes()); err != nil {
		return err
	}
	if len(found.Problems) > 0 {
		return errors.New(strings.Join(found.Problems, "; "))
	}
	return nil
}

// A diagnosis is what muster doctor --legacy found, in the form of --json.
type diagnosis struct {
	Ports    []portState    `json:"ports"`
	Service  serviceState   `json:"service"`
	Report   *legacy.Report `json:"report,omitempty"`
	Advice   []string       `json:"advice"`
	Problems []string       `json:"problems"` // empty: exit status 0
}

// A portState describes a port of this machine.
type portState struct {
	Port     int         `json:"port"`
	Protocol string      `json:"protocol,omitempty"`        // "" for a port that no SDK dials
	Service  string      `json:"service_address,omitempty"` // where the service says that it listens on this port
	Owners   []portOwner `json:"owners"`                    // empty: the port is free
}

// A portOwner is a process that listens on a port. Usually a port has one; 127.0.0.1 and ::1 can have different ones.
type portOwner struct {
	Address string `json:"address"` // that it listens on
	PID     int    `json:"pid,omitempty"`
	Process string `json:"process,omitempty"` // its name; "" if it cannot be seen
	User    string `json:"user,omitempty"`    // of a process that only this user or root can see
	Local   bool   `json:"gamelift_local"`    // GameLift Local, the tool that Muster replaces
	Service bool   `json:"service"`           // the service that gave the report
}

// A serviceState describes the called service.
type serviceState struct {
	Endpoint  string `json:"endpoint"`
	Reachable bool   `json:"reachable"`       // it is a Muster service that accepted the call
	Legacy    bool   `json:"legacy"`          // it has ports for old server SDKs
	Error     string `json:"error,omitempty"` // why it is not reachable
}

func (d *doctor) diagnose(ctx context.Context) *diagnosis {
	found := &diagnosis{Advice: []string{}, Problems: []string{}}
	found.Report, found.Service = d.legacyReport(ctx)
	owners := d.probes.owners(ctx, d.ports)
	for _, port := range d.ports {
		p := portState{Port: port, Protocol: legacyPorts[port], Owners: append([]portOwner{}, owners[port]...)}
		if found.Report != nil {
			p.Service = addressWithPort(found.Report.Addresses, port)
		}
		p.markService()
		found.Ports = append(found.Ports, p)
	}
	found.judgePorts()
	found.judgeService()
	found.judgeServers()
	return found
}

// legacyReport asks the service for its report, which is nil if there is none.
func (d *doctor) legacyReport(ctx context.Context) (*legacy.Report, serviceState) {
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	state := serviceState{Endpoint: d.service}
	report := new(legacy.Report)
	err := d.get(ctx, "/v1/legacy", func(from io.Reader) error {
		if err := json.NewDecoder(io.LimitReader(from, maxLegacyReport)).Decode(report); err != nil {
			return fmt.Errorf("decode the answer: %w: check that the endpoint is that of Muster's API", err)
		}
		return nil
	})
	if err == nil {
		state.Reachable, state.Legacy = true, true
		return report, state
	}
	if state.Reachable = unknownToService(err); !state.Reachable {
		state.Error = err.Error()
		if failed, ok := errors.AsType[*url.Error](err); ok {
			state.Error = failed.Err.Error() // without the URL, which is printed anyway
		}
	}
	return nil, state
}

// unknownToService reports whether the error is the answer of a service that has no such operation.
func unknownToService(err error) bool {
	for _, kind := range []fault.Kind{fault.UnknownOperation, fault.NotFound} {
		if strings.HasPrefix(err.Error(), string(kind)+": ") {
			return true
		}
	}
	return false
}

// addressWithPort returns the first address with the port, or "".
func addressWithPort(addresses []string, port int) string {
	for _, address := range addresses {
		if _, has, err := net.SplitHostPort(address); err == nil && has == strconv.Itoa(port) {
			return address
		}
	}
	return ""
}

// markService marks the owners that are the service. If none has the service's address, the port is mapped from a
// container and all of them serve it. Else those with this address are the service, and those with its name: a proxy
// for containers has a process for IPv4 and another for IPv6.
func (p *portState) markService() {
	if p.Service == "" {
		return
	}
	at := slices.IndexFunc(p.Owners, func(o portOwner) bool { return sameAddress(o.Address, p.Service) })
	for i := range p.Owners {
		o := &p.Owners[i]
		o.Service = !o.Local && (at < 0 || o.Process == p.Owners[at].Process)
	}
}

func sameAddress(a, b string) bool {
	first, err := netip.ParseAddrPort(a)
	if err != nil {
		return false
	}
	second, err := netip.ParseAddrPort(b)
	return err == nil && first == second
}

// problem adds a problem once.
func (f *diagnosis) problem(format string, args ...any) { addOnce(&f.Problems, format, args) }

// advise adds an advice once.
func (f *diagnosis) advise(format string, args ...any) { addOnce(&f.Advice, format, args) }

func addOnce(to *[]string, format string, args []any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(*to, text) {
		*to = append(*to, text)
	}
}

func (f *diagnosis) judgePorts() {
	var others []portOwner // each one once, without its addresses
	ports := map[portOwner][]string{}
	for _, p := range f.Ports {
		if p.Service != "" && len(p.Owners) == 0 {
			f.advise("The service has its ports on another machine or in a container, not at 127.0.0.1 of this " +
				"machine. Run the game servers there, or give the container host networking.")
		}
		for _, o := range p.Owners {
			if o.Service {
				continue
			}
			f.problem("port %d is taken by %s", p.Port, o)
			o.Address = ""
			if ports[o] == nil {
				others = append(others, o)
			}
			if port := strconv.Itoa(p.Port); !slices.Contains(ports[o], port) {
				ports[o] = append(ports[o], port)
			}
		}
	}
	for _, o := range others {
		f.adviseOwner(o, ports[o])
	}
}

// adviseOwner adds what to do about a process, or several unknown ones, with ports of the service.
func (f *diagnosis) adviseOwner(o portOwner, ports []string) {
	list := "port " + ports[0]
	if len(ports) > 1 {
		list = "ports " + strings.Join(ports, ", ")
	}
	switch {
	case o.Local:
		f.advise("Stop GameLift Local (pid %d), then start the Muster service again: it replaces GameLift Local on %s.",
			o.PID, list)
	case o.PID == 0:
		f.advise(`Find out what listens on %s: run "%s". Stop it, then start the Muster service again.`, list,
			listListeners(runtime.GOOS))
	case o.Process == "muster":
		f.advise("If %s is your service, name its API with --endpoint; otherwise stop it.", o)
	default:
		f.advise("Stop %s or change its port: old game servers need %s. Then start the Muster service again.", o, list)
	}
}

// listListeners returns the command that lists all listening processes, for an administrator.
func listListeners(goos string) string {
	switch goos {
	case "linux":
		return "sudo ss -ltnp"
	case "windows":
		return "netstat -abno"
	default:
		return "sudo lsof -nP -iTCP -sTCP:LISTEN"
	}
}

func (f *diagnosis) judgeService() {
	s := f.Service
	free := slices.ContainsFunc(f.Ports, func(p portState) bool { return len(p.Owners) == 0 })
	if s.Reachable && !s.Legacy {
		f.problem("the service at %s has no ports for old game servers", s.Endpoint)
	}
	if s.Reachable && !s.Legacy || !s.Reachable && free {
		f.advise(`Start "muster local", or set legacy=on for "muster serve" or "muster dev".`)
	}
	if !s.Reachable {
		f.problem("the service at %s gave no report", s.Endpoint)
		f.advise(`If the service runs already, name its API with --endpoint, and set the credentials for it: see ` +
			`"muster doctor --help".`)
	}
	for _, p := range f.Ports {
		if s.Legacy && p.Service == "" && len(p.Owners) == 0 {
			f.advise("The service does not listen on port %d: read its log, then start it again.", p.Port)
		}
	}
}

func (f *diagnosis) judgeServers() {
	if f.Report == nil {
		return
	}
	for _, s := range f.Report.Servers {
		if n := len(s.Missing); n > 0 {
			f.problem("game server %s pid %s misses %s", s.Address, s.PID, counted(n, "step"))
		}
	}
}
