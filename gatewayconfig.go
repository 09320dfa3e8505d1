package muster

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/gateway"
)

// GatewayConfig says how the session gateway works: the HTTP interface through
// which game clients without AWS credentials create, find and join game sessions.
type GatewayConfig struct {
	// Listen is the TCP address of the gateway, unencrypted and TLS on the same port;
	// "" switches it off. "auto" is :3000 with API keys or an issuer of tokens, and
	// 127.0.0.1:3000 without, so that a gateway that authenticates nobody is not
	// reachable from elsewhere unless an address says so. Default: auto.
	Listen string

	// Fleet, Alias and Queue name where game sessions are created: one of them, or
	// none for the first fleet that is ACTIVE. Default: none.
	Fleet, Alias, Queue string
	// Location is where in the fleet; "" chooses one with an idle server process.
	Location string
	// Builds maps builds of the client to a fleet, an alias or a queue:
	// "1234=fleet-…". Those that are not listed go where Fleet, Alias and Queue say.
	Builds []string
	// Search names fleets and aliases where game sessions are looked for besides:
	// those that Queue places on, because a queue cannot be searched.
	Search []string
	// AllowTarget is on when clients of /v1/ may say where a game session is created.
	// Default: off.
	AllowTarget string
	// BuildCheck is what happens to a client whose build is not that of the game
	// session: off, warn (in the log) or enforce. Default: off.
	BuildCheck string
	// Reuse is on when an ACTIVE game session that is empty is taken before a new one
	// is created. Default: off.
	Reuse string
	// Deadline is how long a request may take, the start of the game session
	// included. Default: 12s.
	Deadline time.Duration

	// Fields is what clients see of the game sessions they find: full or minimal.
	// Default: full.
	Fields string
	// FindLimit is how many game sessions a client finds at most. Default: 100.
	FindLimit int
	// LocalFleet is the fleet id that the _local paths speak of. Default: fleet-123.
	LocalFleet string
	// CompatErrors is on to answer failures in the form of the gateway of
	// Python functions that this one replaces, for comparisons. Default: off.
	CompatErrors string
	// Messages is what clients are told of failures of the API: generic, or api for
	// the API's own text, in development. Default: generic.
	Messages string

	// KeysFile names a file of API keys, one "name:key" on a line, one of which a
	// request must carry; "" asks for none.
	KeysFile string
	// Keys are further API keys, by name. For programs: it is no setting, because
	// settings are printed.
	Keys map[string]string
	// SecretFile names a file whose contents key the hashes in the ids of game
	// sessions. All gateways in front of a service should have the same. "" is a
	// secret of the service's own; a gateway that stands alone then has none, and who
	// knows a player's id can tell which game sessions that player has created.
	SecretFile string
	// JWTIssuer is the issuer of the bearer tokens that requests must carry; the
	// uuid of a request must then be the token's subject. "" asks for none.
	JWTIssuer string
	// JWTKeys is the URL of the issuer's keys (JWKS); "" asks the issuer (OpenID
	// discovery).
	JWTKeys string
	// JWTAudience is the audience that tokens must be for; "" for any.
	JWTAudience string
	// JWTScope is a scope that tokens must have, or the answer has status 403; "" for any.
	JWTScope string

	// AddressRate and PlayerRate are requests a second from one address (of IPv6: one
	// /64 network) and for one player; 0 sets no limit. Default: 50 and 10.
	AddressRate, PlayerRate int
	// MaxUnused is how many game sessions that no player has entered one caller may
	// have created: the player of a token, an API key at one address, or else an
	// address. 0 sets no limit. Default: 4.
	MaxUnused int
	// TrustedProxies are the networks whose X-Forwarded-For is believed.
	TrustedProxies []string
	// Origins are the web origins that may call the gateway (CORS).
	Origins []string
	// AccessLog is on when every request is logged. Default: on.
	AccessLog string
}

// DefaultGatewayConfig returns the settings of a gateway that nobody configured.
func DefaultGatewayConfig() GatewayConfig {
	return GatewayConfig{
		Listen: autoListen, AllowTarget: off, BuildCheck: "off", Reuse: off, Deadline: 12 * time.Second, Fields: "full", FindLimit: 100,
		LocalFleet: "fleet-123", CompatErrors: off, Messages: "generic", AddressRate: 50, PlayerRate: 10, MaxUnused: 4, AccessLog: on,
	}
}

const (
	on  = "on"
	off = "off"

	autoListen = "auto" // GatewayConfig.Listen
)

// authenticates reports whether requests must carry credentials.
func (c *GatewayConfig) authenticates() bool {
	return len(c.Keys) > 0 || c.KeysFile != "" || c.JWTIssuer != ""
}

// listenAddress is Listen with a real address in place of auto.
func (c *GatewayConfig) listenAddress() string {
	switch {
	case c.Listen != autoListen:
		return c.Listen
	case c.authenticates():
		return ":3000"
	default:
		return "127.0.0.1:3000"
	}
}

// gatewayAddress checks Listen.
func gatewayAddress(s string) error {
	if s == "" || s == autoListen {
		return nil
	}
	return address(s)
}

// Settings lists the gateway's settings. They stay bound to c.
func (c *GatewayConfig) Settings() []Setting {
	const section = "Session gateway"
	return []Setting{
		{"gateway-listen", section, "TCP address of the session gateway for game clients; auto is :3000 with keys or an issuer and 127.0.0.1:3000 without; empty switches it off", text(&c.Listen, gatewayAddress)},
		{"gateway-fleet", section, "fleet in which the gateway creates game sessions; without fleet, alias and queue the first one that is ACTIVE", text(&c.Fleet, nil)},
		{"gateway-alias", section, "alias of that fleet", text(&c.Alias, nil)},
		{"gateway-queue", section, "queue that places the gateway's game sessions", text(&c.Queue, nil)},
		{"gateway-location", section, "location of new game sessions; empty chooses one with an idle server process", text(&c.Location, nil)},
		{"gateway-builds", section, "where clients of a build go, as build=fleet, build=alias or build=queue", listOf(&c.Builds, buildRoute)},
		{"gateway-search", section, "fleets and aliases where game sessions are looked for besides, as those that the queue places on", listOf(&c.Search, searchable)},
		{"gateway-allow-target", section, "whether clients of /v1/ may say where a game session is created", choice(&c.AllowTarget, off, on)},
		{"gateway-build-check", section, "what happens to a client whose build is not that of the game session", choice(&c.BuildCheck, "off", "warn", "enforce")},
		{"gateway-reuse", section, "whether an empty game session is taken before a new one is created", choice(&c.Reuse, off, on)},
		{"gateway-deadline", section, "how long a request may take, the start of the game session included", duration(&c.Deadline, time.Second, 10*time.Minute)},
		{"gateway-fields", section, "what clients see of the game sessions that they find", choice(&c.Fields, "full", "minimal")},
		{"gateway-find-limit", section, "game sessions that a client finds at most", number(&c.FindLimit, 1, 10_000)},
		{"gateway-local-fleet", section, "fleet id that the _local paths speak of", text(&c.LocalFleet, matching(localFleet, "an id such as fleet-123"))},
		{"gateway-compat-errors", section, "whether failures are answered in the form of the gateway of Python functions that this one replaces", choice(&c.CompatErrors, off, on)},
		{"gateway-messages", section, "whether clients see the API's own text of a failure, or a generic one", choice(&c.Messages, "generic", "api")},
		{"gateway-keys-file", section, "file of API keys, one name:key a line, one of which a request must carry; empty asks for none", text(&c.KeysFile, nil)},
		{"gateway-secret-file", section, "file that keys the hashes in the ids of game sessions, the same for all gateways of a service; empty uses the service's own", text(&c.SecretFile, nil)},
		{"gateway-jwt-issuer", section, "issuer of the bearer tokens that requests must carry; empty asks for none", text(&c.JWTIssuer, optional(webURL))},
		{"gateway-jwt-keys", section, "URL of the issuer's keys (JWKS); empty asks the issuer for it", text(&c.JWTKeys, optional(webURL))},
		{"gateway-jwt-audience", section, "audience that bearer tokens must be for; empty for any", text(&c.JWTAudience, nil)},
		{"gateway-jwt-scope", section, "scope that bearer tokens must have; empty for any", text(&c.JWTScope, nil)},
		{"gateway-address-rate", section, "requests a second that the gateway takes from one address; 0 sets no limit", number(&c.AddressRate, 0, 1_000_000)},
		{"gateway-player-rate", section, "requests a second that the gateway takes for one player; 0 sets no limit", number(&c.PlayerRate, 0, 1_000_000)},
		{"gateway-max-unused-sessions", section, "game sessions that one caller may have created without a player ever entering them; 0 sets no limit", number(&c.MaxUnused, 0, 10_000)},
		{"gateway-trusted-proxies", section, "networks (CIDR) of proxies whose X-Forwarded-For is believed", listOf(&c.TrustedProxies, network)},
		{"gateway-origins", section, "web origins that may call the gateway (CORS)", listOf(&c.Origins, origin)},
		{"gateway-access-log", section, "whether every request to the gateway is logged", choice(&c.AccessLog, on, off)},
	}
}

// Validate reports what a gateway could not run with, as joined *SettingErrors.
func (c *GatewayConfig) Validate() error {
	return errors.Join(append(check(c.Settings()), c.conflicts()...)...)
}

// conflicts reports settings that do not go together.
func (c *GatewayConfig) conflicts() (errs []error) {
	if targets := slices.DeleteFunc([]string{c.Fleet, c.Alias, c.Queue}, func(s string) bool { return s == "" }); len(targets) > 1 {
		errs = append(errs, &SettingError{Setting: "gateway-fleet", Problem: "give one of gateway-fleet, gateway-alias and gateway-queue"})
	}
	if c.Location != "" && c.Fleet == "" && c.Alias == "" {
		errs = append(errs, &SettingError{Setting: "gateway-location", Problem: "needs gateway-fleet or gateway-alias beside it"})
	}
	if c.JWTIssuer == "" && (c.JWTKeys != "" || c.JWTAudience != "" || c.JWTScope != "") {
		errs = append(errs, &SettingError{Setting: "gateway-jwt-issuer", Problem: "is missing, and gateway-jwt-keys, gateway-jwt-audience or gateway-jwt-scope is set"})
	}
	return errs
}

// check reports the settings whose values are not allowed.
func check(settings []Setting) (errs []error) {
	for _, s := range settings {
		if err := s.check(); err != nil {
			errs = append(errs, &SettingError{Setting: s.Name, Problem: err.Error()})
		}
	}
	return errs
}

var localFleet = regexp.MustCompile(`^fleet-\S+$`)

// buildRoute checks one entry of Builds.
func buildRoute(s string) error {
	_, _, err := parseBuildRoute(s)
	return err
}

// parseBuildRoute reads build=target. A target is a fleet or an alias by its id or
// ARN, or else the name of a queue.
func parseBuildRoute(s string) (build int32, target gateway.Target, err error) {
	number, name, ok := strings.Cut(s, "=")
	n, err := strconv.ParseInt(number, 10, 32)
	if !ok || err != nil || name == "" {
		return 0, target, fmt.Errorf("%q is not of the form build=fleet, such as 1234=fleet-1", s)
	}
	return int32(n), targetOf(name), nil
}

// targetOf is what a name stands for.
func targetOf(name string) gateway.Target {
	switch id := name[strings.LastIndexByte(name, '/')+1:]; {
	case strings.HasPrefix(id, "fleet-"):
		return gateway.Target{FleetID: name}
	case strings.HasPrefix(id, "alias-"):
		return gateway.Target{AliasID: name}
	default:
		return gateway.Target{Queue: name}
	}
}

func searchable(s string) error {
	if targetOf(s).Queue != "" {
		return fmt.Errorf("%q is neither a fleet nor an alias", s)
	}
	return nil
}

// routes are where clients of a build go, from a valid configuration.
func (c *GatewayConfig) routes() map[int32]gateway.Target {
	builds := make(map[int32]gateway.Target, len(c.Builds))
	for _, entry := range c.Builds {
		if build, target, err := parseBuildRoute(entry); err == nil {
			builds[build] = target
		}
	}
	return builds
}

// target is where all other clients go; zero for the service's first fleet.
func (c *GatewayConfig) target() gateway.Target {
	return gateway.Target{FleetID: c.Fleet, AliasID: c.Alias, Queue: c.Queue, Location: c.Location}
}

// apiKeys are the keys of the file and the others, by name.
func (c *GatewayConfig) apiKeys() (map[string]string, error) {
	keys := maps.Clone(c.Keys)
	if c.KeysFile == "" {
		return keys, nil
	}
	data, err := os.ReadFile(c.KeysFile)
	if err != nil {
		return nil, fmt.Errorf("gateway-keys-file: %w", err)
	}
	if keys == nil {
		keys = map[string]string{}
	}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, key, ok := strings.Cut(line, ":")
		name, key = strings.TrimSpace(name), strings.TrimSpace(key)
		if _, again := keys[name]; !ok || name == "" || len(key) < minKey || again {
			return nil, fmt.Errorf("gateway-keys-file: line %d is not name:key with a name of its own and a key of at least %d characters", number, minKey)
		}
		keys[name] = key
	}
	if len(keys) == 0 {
		return nil, errors.New("gateway-keys-file: the file holds no key, so that no request could be answered")
	}
	return keys, nil
}

// secret is that of the file, or else the given one.
func (c *GatewayConfig) secret(own []byte) ([]byte, error) {
	if c.SecretFile == "" {
		return own, nil
	}
	data, err := os.ReadFile(c.SecretFile)
	if err != nil {
		return nil, fmt.Errorf("gateway-secret-file: %w", err)
	}
	if data = bytes.TrimSpace(data); len(data) < minKey {
		return nil, fmt.Errorf("gateway-secret-file: the file has %d characters; use at least %d random ones", len(data), minKey)
	}
	return data, nil
}

// minKey is the length of a key that cannot be guessed by trying.
const minKey = 16

func webURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return fmt.Errorf("%q is not a URL such as https://id.example.com", s)
	}
	return nil
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

func origin(s string) error {
	if s == "*" {
		return nil
	}
	if u, err := url.Parse(s); err != nil || webURL(s) != nil || u.Path != "" || u.RawQuery != "" {
		return fmt.Errorf("%q is not an origin such as https://play.example.com", s)
	}
	return nil
}
