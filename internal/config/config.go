// Package config has the settings of the service and of the session gateway, and reads them from flags, the environment
// and a file.
//
// table.go has one row per setting, from which its flag, environment variable, key in the file, help, reference,
// default and check follow.
package config

import (
	"io"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"
)

// Config configures a service. Start from Default, or use Load to read flags, the environment and a file. The zero
// Config is not valid.
//
// The rows of table.go document the fields; comments here are about Go programs only.
type Config struct {
	Process

	Data          string // used by one process at a time
	Shards        int
	SnapshotEvery int
	// SessionRetention also applies to ended player sessions of a running game session with more than 256 of them.
	SessionRetention time.Duration
	// HistoryRetention also applies to player sessions that ended before their game session.
	HistoryRetention time.Duration
	MaxHistorySize   int // MiB
	MaxBuildSize     int // MiB, unpacked
	MaxProcessLogs   int // MiB

	Listen    string
	PublicURL string // sent to game servers as GameLiftServiceSdkEndpoint
	TLSNames  []string
	// InstanceDomain is that of the DNS names in certificates of instances.
	InstanceDomain string
	// TrustedProxies are networks; see ProxyNetworks.
	TrustedProxies []string
	MaxBodyMemory  int // MiB
	PprofListen    string

	Region    string
	Account   string
	ClockSkew time.Duration
	Throttle  int
	MaxCalls  int // 0: 128 per processor, at most 2048; short bursts may exceed it

	SignIn         time.Duration
	ConsoleSignIn  time.Duration
	InsecureSignIn string // on or off
	OpenConsole    string // on or off
	AuditRetention time.Duration
	MaxAuditSize   int    // MiB
	AuditCalls     string // all or management

	AuthTokenLifetime  time.Duration
	ReservationTimeout time.Duration
	ProcessGrace       time.Duration
	ProcessRetention   time.Duration
	ReadyTimeout       time.Duration
	HealthInterval     time.Duration
	HealthMisses       int
	TerminationGrace   time.Duration

	FleetActivationTimeout time.Duration // of EC2-type fleets
	MachineLossTimeout     time.Duration
	InstanceTypes          []string // see ParseInstanceType

	Legacy        string // on or off
	LegacyListen  string
	LegacyPorts   string // three, separated by commas
	LegacyFleet   string
	LegacyAddress string
	LegacyRules   string // fleet or local

	MaxLabelledFleets           int
	MetricsSamplesRetention     time.Duration // in steps of 10 s
	MetricsMinutesRetention     time.Duration
	MetricsFiveMinutesRetention time.Duration
	MetricsHoursRetention       time.Duration
	MaxMetricsSize              int // MiB

	Webhooks          []string // see ParseWebhook
	WebhookSecretFile string

	Gateway Gateway
	Cluster Cluster

	// PasswordHasher is the command, a path and arguments, of a program that calls hasher.Serve. Empty: passwords are
	// hashed in the service's own process, where many of them at a time slow calls down.
	PasswordHasher []string
	// Ready is called once, when every endpoint answers. Run waits for it to return. May be nil.
	Ready func(Endpoints)
}

// Process has the common settings of the service and of a standalone session gateway.
type Process struct {
	Plaintext       string // allow or refuse
	TLSCert, TLSKey string // both or neither

	MaxConnections           int
	MaxConnectionsPerAddress int
	MetricsListen            string

	LogLevel, LogFormat string
	ShutdownTimeout     time.Duration

	// Log; nil: no log. Logger returns one with LogLevel and LogFormat.
	Log *slog.Logger
	// Clock for all deadlines; nil: the system's. Tests set a fake one.
	Clock clockwork.Clock
	// Test makes the service one for tests; nil: it is none. Clock is the kit's then.
	Test TestKit
	// Environ (NAME=value) has the OTEL_* variables, which have the metrics pushed to a collector; nil: no push.
	Environ []string
	// SettingOrigins are the sources of the values, as Load returns them, for people who ask the service; nil: unknown.
	SettingOrigins Origins
}

// A TestKit is a *testkit.Kit, of which the settings know no more: they do not link the service.
type TestKit interface {
	EmulateQuotas()
	EmulatesQuotas() bool
}

// Cluster makes the service one of several nodes that serve a region together. Without Node there is no cluster. The
// rows of table.go document the fields.
type Cluster struct {
	Node      string
	Listen    string
	Advertise string   // "": with the port of Listen
	Peers     []string // may be the same on all nodes
	Replicas  int
	Lease     time.Duration

	// Cert, Key and CA are set together. Without them all nodes have the same local CA: see InitCluster. With NATS, CA
	// is that of its certificate, and Cert authenticates this node.
	Cert, Key, CA string

	NATS      []string // replaces Listen, Advertise and Peers
	NATSCreds string
}

// Local reports whether the service follows the rules of GameLift Local.
func (c *Config) Local() bool { return c.LegacyRules == "local" }

// Alone reports whether there is no cluster.
func (c *Cluster) Alone() bool { return c.Node == "" }

// StandaloneGateway configures a session gateway for a service elsewhere. Start from DefaultStandaloneGateway.
// Credentials are those of the AWS SDK: the environment, the shared files, a role.
type StandaloneGateway struct {
	Process

	Gateway  Gateway
	Endpoint string // URL
	Legacy   string // on or off
	Region   string

	// Secret is the content of Gateway.SecretFile, for programs.
	Secret []byte
	// Ready is called once with the gateway's URL, when it answers. May be nil.
	Ready func(url string)
}

// Endpoints are the addresses and first credentials of a running service.
type Endpoints struct {
	HTTP      string // base URL of the AWS API; unencrypted unless that is refused
	WS        string // WebSocket URL for game servers; "" if unencrypted requests are refused
	WSS       string // the same with TLS
	CAFile    string // PEM file of the local CA; "" with a configured certificate
	AccessKey string // id of the first access key
	SecretKey string // its secret; "" if it is no longer stored
	Region    string
	Gateway   string   // base URL of the session gateway; "" if it is off
	Metrics   string   // URL of the separate metrics address; may be ""
	Pprof     string   // base URL of Go's profiler; "" if it is off
	Legacy    []string // addresses for old game servers: socket.io, HTTP and WebSocket; nil if they are off
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

// Logger returns a logger that writes to w with LogLevel and LogFormat.
func (p *Process) Logger(w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(p.LogLevel)); err != nil {
		level = slog.LevelInfo // Validate reports the invalid level
	}
	options := &slog.HandlerOptions{Level: level}
	if p.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
