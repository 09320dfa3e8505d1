package muster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

//go:generate go run ./internal/configdoc docs/reference/configuration.md

// A Setting is one field of a Config under the name that operators write: the
// flag --name, the environment variable MUSTER_NAME and the key name of the file.
type Setting struct {
	Name    string // lower-case words with hyphens
	Section string // what it is about, for the reference
	Usage   string // what it means, in one sentence
	value
}

// Env is the environment variable of the setting.
func (s Setting) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// TOML is the line that gives the setting its present value in a file.
func (s Setting) TOML() (string, error) {
	line, err := toml.Marshal(map[string]any{s.Name: s.plain()})
	if err != nil {
		return "", fmt.Errorf("setting %s: %w", s.Name, err)
	}
	return strings.TrimSpace(string(line)), nil
}

// Redacted is the setting as others may see it: without the user and the query of URLs.
// It is for printing; the field that it is bound to stays as it is.
func (s Setting) Redacted() Setting {
	if s.shown == nil {
		return s
	}
	items, _ := s.plain().([]string)
	shown := make([]string, len(items))
	for i, item := range items {
		shown[i] = s.value.shown(item)
	}
	s.plain = func() any { return shown }
	s.text = func() string { return strings.Join(shown, ",") }
	return s
}

// Plain is the present value as a string, an int or a []string, for encoders.
func (s Setting) Plain() any { return s.plain() }

// String is the present value as it is written in a flag.
func (s Setting) String() string { return s.text() }

// Set changes the value. Its error says what was expected.
func (s Setting) Set(text string) error { return s.set(text) }

// Kind says what may be written: "text", "number", "duration", "list" or the
// choices, and the bounds.
func (s Setting) Kind() string { return s.kind }

// Usage of settings that the session gateway alone has, too.
const (
	connectionsUsage = "connections open at the same time, over all ports; 0 derives it from the limit of open files, which bounds it in any case"
	perAddressUsage  = "connections from one IPv4 address, or IPv6 network of 64 bits, open at the same time; 0 is half of max-connections"
)

// Settings lists the settings of c in the order of the reference. They stay
// bound to c: Set changes c.
func (c *Config) Settings() []Setting {
	const (
		storage = "Storage"
		network = "Network"
		aws     = "AWS API"
		servers = "Game servers"
		events  = "Events"
		running = "Running"
	)
	return slices.Concat([]Setting{
		{"data", storage, "directory that holds everything the service keeps; made when it does not exist", text(&c.Data, notEmpty)},
		{"shards", storage, "number of shards, which is fixed when the data directory is created; 0 is what that has, and in a new one 4, or 12 for a node of a cluster", number(&c.Shards, 0, 256)},
		{"snapshot-every", storage, "journal records that a shard writes between two snapshots of its state", number(&c.SnapshotEvery, 100, 10_000_000)},
		{"session-memory", storage, "how long ended game sessions, and most ended player sessions, stay in memory before only the history has them", duration(&c.SessionMemory, 0, 30*day)},
		{"history", storage, "how long ended game sessions and player sessions can still be described", duration(&c.History, time.Minute, 3650*day)},

		{"listen", network, "TCP address of the one port for HTTP, HTTPS, ws and wss; port 0 means any free one", text(&c.Listen, address)},
		{"public-url", network, "ws:// or wss:// URL under which game servers reach the service; empty derives it from the listen address", text(&c.PublicURL, optional(webSocketURL))},
		{"plaintext", network, "whether requests without TLS are answered", choice(&c.Plaintext, "allow", "refuse")},
		{"tls-cert", network, "PEM file with the certificate chain, which is read again when it changes; empty uses one of a local authority in the data directory", text(&c.TLSCert, nil)},
		{"tls-key", network, "PEM file with the key of tls-cert", text(&c.TLSKey, nil)},
		{"tls-names", network, "further host names and IP addresses in the local authority's certificate", list(&c.TLSNames)},
		{"max-connections", network, connectionsUsage, number(&c.MaxConnections, 0, mostConnections)},
		{"max-connections-per-address", network, perAddressUsage, number(&c.MaxConnectionsPerAddress, 0, mostConnections)},
		{"max-body-memory", network, "MiB that bodies of API requests may take in memory at the same time, before further ones are throttled", number(&c.MaxBodyMemory, 11, 1<<20)},
		{"metrics-listen", network, "TCP address that answers /metrics, without authentication; empty answers it on the other addresses to this machine alone", text(&c.MetricsListen, optional(address))},
		{"pprof-listen", network, "TCP address of Go's profiler, which asks for no credentials; empty switches it off", text(&c.PprofListen, optional(address))},

		{"region", aws, "AWS region that the service stands for; part of every ARN", text(&c.Region, matching(regionName, "a region such as us-west-2"))},
		{"account", aws, "AWS account number in ARNs", text(&c.Account, matching(accountNumber, "12 digits"))},
		{"clock-skew", aws, "how far the date of a signed request may be from the service's clock", duration(&c.ClockSkew, time.Second, day)},
		{"throttle", aws, "requests a second that one access key may make; 0 sets no limit", number(&c.Throttle, 0, 1_000_000)},
		{"max-calls", aws, "calls worked on at the same time, before further ones are throttled; 0 derives it from the number of processors", number(&c.MaxCalls, 0, 100_000)},

		{"auth-token-lifetime", servers, "how long a compute's auth token is valid", duration(&c.AuthTokenLifetime, time.Minute, 365*day)},
		{"reservation-timeout", servers, "how long a reserved player session waits for its player", duration(&c.ReservationTimeout, time.Second, day)},
		{"process-grace", servers, "how long a server process whose socket broke may take to come back", duration(&c.ProcessGrace, time.Second, day)},
		{"process-memory", servers, "how long the id of an ended server process stays taken", duration(&c.ProcessMemory, 10*time.Second, day)},
		{"ready-timeout", servers, "how long a connected server process may take to say that it is ready", duration(&c.ReadyTimeout, time.Second, day)},
		{"health-interval", servers, "how often a server process is expected to report its health", duration(&c.HealthInterval, time.Second, time.Hour)},
		{"health-misses", servers, "health reports in a row that may be missing or bad before a server process is ended", number(&c.HealthMisses, 1, 1000)},
		{"termination-grace", servers, "how long a server process may take to end after it was asked to", duration(&c.TerminationGrace, time.Second, day)},

		{"webhooks", events, "where events of queues and matchmaking are delivered: TOPIC=URL for those whose NotificationTarget is TOPIC, or a URL for all", listOf(&c.Webhooks, webhookTarget).hiding(shownWebhook)},
		{"webhook-secret-file", events, "file with the secret that deliveries are signed with (whsec_ and base64); empty leaves them unsigned", text(&c.WebhookSecretFile, nil)},
	}, c.Gateway.Settings(), c.Cluster.Settings(), []Setting{
		{"log-level", running, "least level that is logged", choice(&c.LogLevel, "debug", "info", "warn", "error")},
		{"log-format", running, "form of the log", choice(&c.LogFormat, "text", "json")},
		{"shutdown-timeout", running, "how long a stop waits for requests under way", duration(&c.ShutdownTimeout, 0, time.Hour)},
	})
}

// A SettingError says which setting cannot be used, and why.
type SettingError struct {
	Setting string // its name
	Origin  string // where its value came from, as in Origins; "" when that is not known
	Problem string
}

// Error names the setting, where its value came from and the problem.
func (e *SettingError) Error() string {
	if e.Origin == "" {
		return fmt.Sprintf("setting %s: %s", e.Setting, e.Problem)
	}
	return fmt.Sprintf("setting %s (%s): %s", e.Setting, e.Origin, e.Problem)
}

// Validate reports every setting that a service could not run with, as joined
// *SettingErrors.
func (c *Config) Validate() error {
	errs := slices.Concat(check(c.Settings()), c.Gateway.conflicts(), c.Cluster.conflicts())
	switch {
	case c.TLSCert != "" && c.TLSKey == "":
		errs = append(errs, &SettingError{Setting: "tls-key", Problem: "is missing, and tls-cert is set: give both or neither"})
	case c.TLSCert == "" && c.TLSKey != "":
		errs = append(errs, &SettingError{Setting: "tls-cert", Problem: "is missing, and tls-key is set: give both or neither"})
	}
	if c.Plaintext == "refuse" && strings.HasPrefix(c.PublicURL, "ws:") {
		errs = append(errs, &SettingError{Setting: "public-url", Problem: "begins with ws://, which plaintext=refuse does not answer: use wss://"})
	}
	return errors.Join(errs...)
}
