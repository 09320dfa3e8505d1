package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Gateway configures the session gateway: the HTTP interface for game clients without AWS credentials to create, find
// and join game sessions. The rows of table.go document the fields.
type Gateway struct {
	Listen string // may be AutoListen: see ListenAddress

	Fleet, Alias, Queue string // one of them, or none
	Location            string
	Builds              []string // build=target; see Routes
	// Search adds fleets and aliases, because queues cannot be searched.
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
	// Keys are further API keys, by name, for programs. They are no setting, because settings are printed.
	Keys map[string]string
	// SecretFile; "": the service's own secret. A standalone gateway then has none, so that anyone with a player's id
	// can find the game sessions which that player has created.
	SecretFile string
	// JWTIssuer signs tokens, whose subject must be the uuid of the request.
	JWTIssuer   string
	JWTKeys     string
	JWTAudience string
	JWTScope    string // a token without it is rejected with 403

	AddressRate, PlayerRate int // requests per second; an IPv6 address counts as its /64
	// MaxUnused is per player of a token, per API key and address, or else per address.
	MaxUnused      int
	TrustedProxies []string // networks; see ProxyNetworks
	Origins        []string
	AccessLog      string // on or off
}

// On is the value of an enabled setting.
const On = "on"

// AutoListen as Gateway.Listen is replaced by ListenAddress.
const AutoListen = "auto"

// Authenticates reports whether requests must carry credentials.
func (c *Gateway) Authenticates() bool {
	return len(c.Keys) > 0 || c.KeysFile != "" || c.JWTIssuer != ""
}

// ListenAddress returns Listen with AutoListen replaced: a gateway without authentication listens locally unless an
// address is configured.
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

// buildRoute checks an entry of Builds.
func buildRoute(s string) error {
	_, _, err := parseBuildRoute(s)
	return err
}

// parseBuildRoute reads build=target. A target is a fleet or an alias by its id or ARN, else the name of a queue.
func parseBuildRoute(s string) (build int32, target Target, err error) {
	number, name, ok := strings.Cut(s, "=")
	n, err := strconv.ParseInt(number, 10, 32)
	if !ok || err != nil || name == "" {
		return 0, target, fmt.Errorf("%q is not of the form build=fleet, such as 1234=fleet-1", s)
	}
	return int32(n), targetOf(name), nil
}

// A Target is where game sessions are created: one of Fleet, Alias and Queue, or none for the fleet that the service
// chooses.
type Target struct {
	Fleet, Alias string // id or ARN
	Queue        string // name
	Location     string // in the fleet; "": any
}

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

// aFleet and anAlias check Fleet and Alias.
func aFleet(s string) error {
	if s != "" && targetOf(s).Fleet == "" {
		return fmt.Errorf("%q is not the id or ARN of a fleet: see 'muster get fleets'", s)
	}
	return nil
}

func anAlias(s string) error {
	if s != "" && targetOf(s).Alias == "" {
		return fmt.Errorf("%q is not the id or ARN of an alias: see 'muster get aliases'", s)
	}
	return nil
}

func searchable(s string) error {
	if targetOf(s).Queue != "" {
		return fmt.Errorf("%q is neither a fleet nor an alias", s)
	}
	return nil
}

// Routes returns the targets by build, from a valid configuration.
func (c *Gateway) Routes() map[int32]Target {
	builds := make(map[int32]Target, len(c.Builds))
	for _, entry := range c.Builds {
		if build, target, err := parseBuildRoute(entry); err == nil {
			builds[build] = target
		}
	}
	return builds
}

// Target returns the target of all other clients.
func (c *Gateway) Target() Target {
	return Target{Fleet: c.Fleet, Alias: c.Alias, Queue: c.Queue, Location: c.Location}
}

// SearchTargets returns the targets in Search.
func (c *Gateway) SearchTargets() []Target {
	targets := make([]Target, len(c.Search))
	for i, name := range c.Search {
		targets[i] = targetOf(name)
	}
	return targets
}

// ProxyNetworks returns TrustedProxies, from a valid configuration.
func (c *Gateway) ProxyNetworks() []netip.Prefix { return networksOf(c.TrustedProxies) }

// ProxyNetworks returns TrustedProxies, from a valid configuration.
func (c *Config) ProxyNetworks() []netip.Prefix { return networksOf(c.TrustedProxies) }

func networksOf(list []string) (networks []netip.Prefix) {
	for _, text := range list {
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
