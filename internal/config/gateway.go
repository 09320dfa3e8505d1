package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Gateway configures the session gateway: the HTTP interface through which game clients
// without AWS credentials create, find and join game sessions. The rows of table.go
// document each field.
type Gateway struct {
	Listen string // AutoListen: see ListenAddress

	Fleet, Alias, Queue string // one of them, or none
	Location            string
	Builds              []string // build=target; see Routes
	// Search names fleets and aliases besides, because a queue cannot be searched.
	Search      []string
	AllowTarget string // on or off
	BuildCheck  string // off, warn (in the log) or enforce
	Reuse       string // on or off
	Deadline    time.Duration

	Fields       string // full or minimal
	FindLimit    int
	LocalFleet   string
	CompatErrors string // on or off
	Messages     string // generic or api

	KeysFile string
	// Keys are further API keys, by name. For programs: it is no setting, because
	// settings are printed.
	Keys map[string]string
	// SecretFile is "" for a secret of the service's own. A gateway that stands alone then
	// has none, and who knows a player's id can tell which game sessions that player has
	// created.
	SecretFile string
	// JWTIssuer signs tokens whose subject must be the uuid of the request.
	JWTIssuer   string
	JWTKeys     string
	JWTAudience string
	JWTScope    string // a token without it receives status 403

	AddressRate, PlayerRate int // requests a second; one IPv6 address is a network of 64 bits
	// MaxUnused counts by caller: the player of a token, an API key at one address, or
	// else an address.
	MaxUnused      int
	TrustedProxies []string // networks; see ProxyNetworks
	Origins        []string
	AccessLog      string // on or off
}

// On is the value of a setting that is either on or off.
const On = "on"

// AutoListen as Gateway.Listen leaves the address to ListenAddress.
const AutoListen = "auto"

// Authenticates reports whether requests must carry credentials.
func (c *Gateway) Authenticates() bool {
	return len(c.Keys) > 0 || c.KeysFile != "" || c.JWTIssuer != ""
}

// ListenAddress is Listen with a real address in place of AutoListen: a gateway without
// authentication is reachable from elsewhere only if an address says so.
func (c *Gateway) ListenAddress() string {
	switch {
	case c.Listen != AutoListen:
		return c.Listen
	case c.Authenticates():
		return ":3000"
	default:
		return "127.0.0.1:3000"
	}
}

// buildRoute checks one entry of Builds.
func buildRoute(s string) error {
	_, _, err := parseBuildRoute(s)
	return err
}

// parseBuildRoute reads build=target. A target is a fleet or an alias by its id or
// ARN, or else the name of a queue.
func parseBuildRoute(s string) (build int32, target Target, err error) {
	number, name, ok := strings.Cut(s, "=")
	n, err := strconv.ParseInt(number, 10, 32)
	if !ok || err != nil || name == "" {
		return 0, target, fmt.Errorf("%q is not of the form build=fleet, such as 1234=fleet-1", s)
	}
	return int32(n), targetOf(name), nil
}

// A Target is where game sessions are created: one of Fleet, Alias and Queue, or none
// of them for the first fleet that is ACTIVE.
type Target struct {
	Fleet, Alias string // id or ARN
	Queue        string // name
	Location     string // in the fleet; "": any
}

// targetOf returns the target that a name stands for.
func targetOf(name string) Target {
	switch id := name[strings.LastIndexByte(name, '/')+1:]; {
	case strings.HasPrefix(id, "fleet-"):
		return Target{Fleet: name}
	case strings.HasPrefix(id, "alias-"):
		return Target{Alias: name}
	default:
		return Target{Queue: name}
	}
}

func searchable(s string) error {
	if targetOf(s).Queue != "" {
		return fmt.Errorf("%q is neither a fleet nor an alias", s)
	}
	return nil
}

// Routes returns where clients of a build go, from a valid configuration.
func (c *Gateway) Routes() map[int32]Target {
	builds := make(map[int32]Target, len(c.Builds))
	for _, entry := range c.Builds {
		if build, target, err := parseBuildRoute(entry); err == nil {
			builds[build] = target
		}
	}
	return builds
}

// Target returns where all other clients go.
func (c *Gateway) Target() Target {
	return Target{Fleet: c.Fleet, Alias: c.Alias, Queue: c.Queue, Location: c.Location}
}

// SearchTargets returns the targets that Search names.
func (c *Gateway) SearchTargets() []Target {
	targets := make([]Target, len(c.Search))
	for i, name := range c.Search {
		targets[i] = targetOf(name)
	}
	return targets
}

// ProxyNetworks returns the networks that TrustedProxies names, from a valid configuration.
func (c *Gateway) ProxyNetworks() (networks []netip.Prefix) {
	for _, text := range c.TrustedProxies {
		if network, err := parseNetwork(text); err == nil {
			networks = append(networks, network)
		}
	}
	return networks
}

func network(s string) error {
	_, err := parseNetwork(s)
	return err
}

// parseNetwork reads a network, or one address.
func parseNetwork(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return p, fmt.Errorf("%q is neither a network such as 10.0.0.0/8 nor an IP address", s)
	}
	return p, nil
}
