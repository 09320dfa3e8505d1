package muster

import (
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jonboulle/clockwork"
)

// Config says how a service runs. Start from DefaultConfig, change what is to
// differ and hand it to Run; programs that take settings from flags, the
// environment and a file use Load. The zero Config is not valid.
//
// Settings describes the same fields by the names that operators write.
type Config struct {
	// Data is the directory that holds everything the service keeps. It is made
	// when it does not exist. One process may use it at a time. Default: muster-data.
	Data string
	// Shards is how many shards the region has. It is fixed when the data
	// directory is created and must stay the same afterwards. 0 is what the directory
	// has, and in a new one 4, or 12 for a node of a cluster. Default: 0.
	Shards int
	// SnapshotEvery is how many journal records a shard writes before it saves
	// its state, so that a restart replays no more than these. Default: 50000.
	SnapshotEvery int
	// SessionMemory is how long an ended game session, with its player sessions,
	// stays in memory; after that it is read from the history. So are ended player
	// sessions of a game session that goes on and has more than 256. Default: 10m.
	SessionMemory time.Duration
	// History is how long ended game sessions, and player sessions that ended before
	// their game session, can still be described.
	// Default: 30d. Source: API reference, DescribeGameSessions.
	History time.Duration

	// Listen is the TCP address of the one port that answers HTTP, HTTPS, ws and
	// wss. Port 0 means any free one. Default: :9080.
	Listen string
	// PublicURL is the ws:// or wss:// URL under which game servers reach the
	// service, given to them as GameLiftServiceSdkEndpoint. "" derives it from
	// the address that is listened on: see ServerEndpoint. Default: "".
	PublicURL string
	// Plaintext is "allow", or "refuse" to answer TLS alone. Default: allow.
	Plaintext string
	// TLSCert and TLSKey are PEM files with the certificate chain and its key;
	// both or neither. They are read again when they change. "" uses a certificate of a local authority that is made in
	// the data directory at the first start. Default: "".
	TLSCert, TLSKey string
	// TLSNames are host names and IP addresses that the certificate of the local
	// authority shall name besides localhost, this host's name and the host of
	// PublicURL. Default: none.
	TLSNames []string
	// MaxConnections is how many connections may be open at the same time, over all
	// ports; further ones are closed at once. 0 derives it from the limit of open files
	// of the process, of which some are kept for the journal; no more than that are
	// allowed in any case. Default: 0.
	MaxConnections int
	// MaxConnectionsPerAddress is how many of them may come from one address: an IPv4
	// address, or the first 64 bits of an IPv6 address. 0 is half of MaxConnections.
	// Default: 0.
	MaxConnectionsPerAddress int
	// MaxBodyMemory is how many MiB the bodies of API requests may take in memory at the
	// same time; who sends more is answered with ThrottlingException. Default: 128.
	MaxBodyMemory int
	// MetricsListen is a TCP address that answers /metrics, unencrypted and without
	// authentication. "" answers it on Listen and on the session gateway's address, to
	// clients on this machine alone. Default: "".
	MetricsListen string
	// PprofListen is a TCP address for Go's profiler, which has no
	// authentication. "" switches it off. Default: "".
	PprofListen string

	// Region is the AWS region that the service stands for; it is part of every
	// ARN. Default: us-west-2.
	Region string
	// Account is the 12-digit AWS account number in ARNs. Default: 111122223333.
	Account string
	// ClockSkew is how far the date of a signed request may be from the
	// service's clock. Default: 5m. Source: AWS Signature Version 4.
	ClockSkew time.Duration
	// Throttle is how many requests a second one access key may make before it is
	// answered with ThrottlingException; 0 sets no limit. Default: 0.
	Throttle int
	// MaxCalls is how many API calls are worked on at the same time; further ones
	// are answered with ThrottlingException, unless they come in a short rush. 0
	// derives it from the number of processors: 128 for each, at most 2048.
	// Default: 0.
	MaxCalls int

	// AuthTokenLifetime is how long a compute's auth token is valid. Default: 3h.
	AuthTokenLifetime time.Duration
	// ReservationTimeout is how long a RESERVED player session waits for its
	// player. Default: 60s. Source: server SDK reference, PlayerSession.Status.
	ReservationTimeout time.Duration
	// ProcessGrace is how long a server process whose socket broke may take to
	// come back before it counts as lost. Default: 200s.
	ProcessGrace time.Duration
	// ProcessMemory is how long the id of an ended server process stays taken, so
	// that one which comes back late is told that it has ended. Default: 10m.
	ProcessMemory time.Duration
	// ReadyTimeout is how long a connected server process may take to say that
	// it is ready. Default: 5m.
	ReadyTimeout time.Duration
	// HealthInterval is how often a server process is expected to report its health.
	// Default: 60s. Source: server SDK reference, OnHealthCheck.
	HealthInterval time.Duration
	// HealthMisses is how many reports in a row may be missing or bad before a
	// server process counts as unhealthy and is ended. Default: 3.
	HealthMisses int
	// TerminationGrace is how long a server process may take to end after it was
	// asked to. Default: 5m. Source: server SDK reference, OnProcessTerminate.
	TerminationGrace time.Duration

	// Webhooks are where the events of queues and matchmaking are delivered: each
	// "TOPIC=URL", with the ARN that queues and configurations name as their
	// NotificationTarget, or a URL alone, which gets all events. Default: none.
	Webhooks []string
	// WebhookSecretFile names a file with the secret that deliveries are signed
	// with, as the Standard Webhooks specification writes it: whsec_ and base64. ""
	// leaves them unsigned.
	WebhookSecretFile string

	// Gateway is the session gateway for game clients.
	Gateway GatewayConfig

	// Cluster makes the service one node of several.
	Cluster ClusterConfig

	// LogLevel is the least level logged: debug, info, warn or error. Default: info.
	LogLevel string
	// LogFormat is text or json. Default: text.
	LogFormat string
	// ShutdownTimeout is how long a stop waits for requests under way before it
	// cuts them off. Default: 10s.
	ShutdownTimeout time.Duration

	// Log takes the service's log; nil discards it. Logger makes one that follows
	// LogLevel and LogFormat.
	Log *slog.Logger
	// Ready is called once, when every endpoint answers. Run goes on after it
	// returns, so it must not wait for long. May be nil.
	Ready func(Endpoints)
	// Clock is what every deadline of the service goes by; nil is the system's.
	// Tests set one that they move themselves.
	Clock clockwork.Clock
}

// Endpoints says how a running service is reached.
type Endpoints struct {
	HTTP      string // base URL of the AWS API, plain text unless that is refused
	WS        string // WebSocket URL for game servers; "" when plain text is refused
	WSS       string // the same over TLS
	CAFile    string // PEM file of the authority behind the TLS certificate; "" when the certificate was given
	AccessKey string // id of the first access key
	SecretKey string // its secret; "" when it is no longer known
	Region    string
	Gateway   string // base URL of the session gateway; "" when it is off
	Metrics   string // URL of the metrics on their own address; "" when they have none
	Pprof     string // base URL of Go's profiler; "" when it is off
}

// DefaultConfig returns the settings of a service that nobody configured.
func DefaultConfig() Config {
	return Config{
		Data:          "muster-data",
		SnapshotEvery: 50_000,
		SessionMemory: 10 * time.Minute,
		History:       30 * day,

		Listen:        ":9080",
		Plaintext:     "allow",
		MaxBodyMemory: 128,

		Region:    "us-west-2",
		Account:   "111122223333",
		ClockSkew: 5 * time.Minute,

		AuthTokenLifetime:  3 * time.Hour,
		ReservationTimeout: time.Minute,
		ProcessGrace:       200 * time.Second,
		ProcessMemory:      10 * time.Minute,
		ReadyTimeout:       5 * time.Minute,
		HealthInterval:     time.Minute,
		HealthMisses:       3,
		TerminationGrace:   5 * time.Minute,

		Gateway: DefaultGatewayConfig(),
		Cluster: DefaultClusterConfig(),

		LogLevel:        "info",
		LogFormat:       "text",
		ShutdownTimeout: 10 * time.Second,
	}
}

// Logger makes a logger that writes to w as LogLevel and LogFormat say.
func (c *Config) Logger(w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo // Validate refuses such a level; a log must exist all the same
	}
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// ServerEndpoint is the URL that game servers are told to dial. It is PublicURL
// when that is set. Else it names the address that is listened on, with this
// host's name in place of a wildcard address, and its scheme is wss as that of
// the managed service: the C++ server SDK speaks nothing but TLS.
func (c *Config) ServerEndpoint(listening net.Addr) string {
	if c.PublicURL != "" {
		return strings.TrimSuffix(c.PublicURL, "/")
	}
	return (&url.URL{Scheme: "wss", Host: dialable(listening)}).String()
}

// dialable turns an address that is listened on into one that others can dial.
func dialable(listening net.Addr) string {
	host, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return listening.String()
	}
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return net.JoinHostPort(host, port)
	}
	name, err := os.Hostname()
	if err != nil || name == "" {
		name = "localhost"
	}
	return net.JoinHostPort(name, port)
}
