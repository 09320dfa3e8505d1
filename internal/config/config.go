// Package config holds the settings of the service and of the session gateway, and reads
// them from flags, the environment and a file.
//
// table.go has one row for each setting. Its flag, its environment variable, its key in
// the file, its line in the help and in the reference, its default and its check follow
// from that row.
package config

import (
	"io"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"
)

// Config configures a service. Start from Default and change what is to differ; programs
// that take settings from flags, the environment and a file use Load. The zero Config is
// not valid.
//
// The rows of table.go, which are the reference of the settings too, document each field;
// a comment here says what only concerns Go programs, or has no place in a row.
type Config struct {
	Process

	Data          string // one process may use it at a time
	Shards        int
	SnapshotEvery int
	// SessionMemory also applies to ended player sessions of a game session that goes on
	// and has more than 256 of them.
	SessionMemory time.Duration
	// History also applies to player sessions that ended before their game session.
	History time.Duration

	Listen        string
	PublicURL     string // game servers receive it as GameLiftServiceSdkEndpoint
	TLSNames      []string
	MaxBodyMemory int // MiB
	PprofListen   string

	Region    string
	Account   string
	ClockSkew time.Duration
	Throttle  int
	MaxCalls  int // 0: 128 for each processor, at most 2048; a short rush may exceed it

	AuthTokenLifetime  time.Duration
	ReservationTimeout time.Duration
	ProcessGrace       time.Duration
	ProcessMemory      time.Duration
	ReadyTimeout       time.Duration
	HealthInterval     time.Duration
	HealthMisses       int
	TerminationGrace   time.Duration

	Webhooks          []string // ParseWebhook reads an entry
	WebhookSecretFile string

	Gateway Gateway
	Cluster Cluster

	// Ready is called once, when every endpoint answers. Run goes on after it
	// returns, so it must not wait for long. May be nil.
	Ready func(Endpoints)
}

// Process holds what the service and a session gateway on its own have in common.
type Process struct {
	Plaintext       string // allow or refuse
	TLSCert, TLSKey string // both or neither

	MaxConnections           int
	MaxConnectionsPerAddress int
	MetricsListen            string

	LogLevel, LogFormat string
	ShutdownTimeout     time.Duration

	// Log takes the log; nil discards it. Logger makes one that follows LogLevel and
	// LogFormat.
	Log *slog.Logger
	// Clock is what every deadline goes by; nil is the system's. Tests set one that they
	// move themselves.
	Clock clockwork.Clock
}

// Cluster makes the service one node of several that serve a region together. Without
// Node it is alone. The rows of table.go document each field.
type Cluster struct {
	Node      string
	Listen    string
	Advertise string   // "" has the port of Listen
	Peers     []string // all nodes can have the same list
	Replicas  int
	Lease     time.Duration

	// Cert, Key and CA are given all or none. Nodes with certificates of the local CA have
	// that in common: see InitCluster. With NATS, CA is the authority of its certificate,
	// and Cert the one by which it knows this node.
	Cert, Key, CA string

	NATS      []string // Listen, Advertise and Peers have no effect with it
	NATSCreds string
}

// Alone reports whether this service is the only one of its region.
func (c *Cluster) Alone() bool { return c.Node == "" }

// StandaloneGateway configures a session gateway in front of a service elsewhere.
// Start from DefaultStandaloneGateway. Credentials are those of the AWS SDK's usual
// sources: the environment, the shared files, a role.
type StandaloneGateway struct {
	Process

	Gateway  Gateway
	Endpoint string // URL
	Legacy   string // on or off
	Region   string

	// Secret is what Gateway.SecretFile holds, for programs.
	Secret []byte
	// Ready is called once with the gateway's URL, when it answers. May be nil.
	Ready func(url string)
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

// Default returns the default settings of a service.
func Default() (c Config) {
	reset(c.Settings())
	return c
}

// DefaultCluster returns the default settings of a node.
func DefaultCluster() (c Cluster) {
	reset(c.Settings())
	return c
}

// DefaultStandaloneGateway returns the default settings of a gateway.
func DefaultStandaloneGateway() (c StandaloneGateway) {
	reset(c.Settings())
	return c
}

// Logger makes a logger that writes to w as LogLevel and LogFormat say.
func (p *Process) Logger(w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(p.LogLevel)); err != nil {
		level = slog.LevelInfo // Validate refuses such a level; a log must exist all the same
	}
	options := &slog.HandlerOptions{Level: level}
	if p.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
