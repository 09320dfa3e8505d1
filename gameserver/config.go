package gameserver

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"
)

// Config configures a Server or a Host. The zero value is ready to use.
type Config struct {
	// Log receives the events of the connection and the Host; nil: no log. Panics of a Host's callbacks are logged by
	// slog.Default() if Log drops them. Tokens, keys and the connection's URL are never logged.
	Log *slog.Logger
	// Trace is called with every message that is sent or received, for diagnosis; nil for none. It must return quickly,
	// and must not call the Server. It may be called concurrently.
	Trace func(Message)
	// TLSConfig is for wss:// URLs. nil trusts the system's roots, and those in the PEM file that the environment
	// variable MUSTER_CA_FILE names.
	TLSConfig *tls.Config
	// ReconnectLimit is how long the package tries to reconnect; 0: as long as the Server is open. If the service
	// rejects the process itself, for example because it took it for dead, the attempts end after two minutes in any
	// case. See Done.
	ReconnectLimit time.Duration
	// Getenv reads the environment; nil for os.Getenv.
	Getenv func(string) string

	// The following are for a Host. A Server has no use for them.

	// KeepWhenEmpty keeps the process after its last player has left. By default the process ends then, as O3DE does
	// with sv_terminateOnPlayerExit, but after EmptyLimit. A process that no player has joined goes on in any case.
	KeepWhenEmpty bool
	// EmptyLimit is how long the process goes on without players when the last one has left; 0: 10 s. A player who
	// joins meanwhile cancels the end. When it has passed and players have reservations, the process goes on until
	// they have joined, or their reservations have expired: then the Host asks the service for reservations, and again
	// each time that EmptyLimit has passed. Negative: the process ends at once, whatever is reserved.
	EmptyLimit time.Duration
	// ResumeLimit is how long the player session of a lost connection stays for the player to come back, see
	// HandlePlayerConnectionLost; 0: 10 s. Negative: such a player has left.
	ResumeLimit time.Duration
	// DestroyLimit is how long OnDestroySessionBegin may take, and likewise OnDestroySessionEnd; 0 for 30 s. The
	// service waits some minutes for all of the end, five on AWS, before it kills the process.
	DestroyLimit time.Duration
	// DrainLimit is how long the end may take to end the player sessions of connected players; 0: 10 s.
	DrainLimit time.Duration

	// clock drives the timers; nil for the real one.
	clock clockwork.Clock
}

// fill sets what is missing.
func (c *Config) fill() {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Trace == nil {
		c.Trace = func(Message) {}
	}
	if c.clock == nil {
		c.clock = clockwork.NewRealClock()
	}
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
}

// A Message is one message on the wire, as Config.Trace sees it.
type Message struct {
	Sent   bool     // sent to the service; else received from it
	Remote net.Addr // of the service
	Text   string   // JSON; auth tokens and secret keys in it are replaced by "***"
}

func (c *Config) trust() (*tls.Config, error) {
	file := c.Getenv("MUSTER_CA_FILE")
	if file == "" || c.TLSConfig != nil && c.TLSConfig.RootCAs != nil {
		return c.TLSConfig, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("MUSTER_CA_FILE: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // a system without roots of its own
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("MUSTER_CA_FILE: no certificate in %s", file)
	}
	trust := c.TLSConfig.Clone()
	if trust == nil {
		trust = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	trust.RootCAs = roots
	return trust, nil
}

// ServerParameters say where the service is and who this process is. Each is overridden by an environment variable that
// is set and not empty, as in the official SDKs: GAMELIFT_SDK_WEBSOCKET_URL, GAMELIFT_SDK_PROCESS_ID,
// GAMELIFT_SDK_HOST_ID, GAMELIFT_SDK_FLEET_ID, GAMELIFT_SDK_AUTH_TOKEN, GAMELIFT_REGION, GAMELIFT_ACCESS_KEY,
// GAMELIFT_SECRET_KEY and GAMELIFT_SESSION_TOKEN.
type ServerParameters struct {
	WebSocketURL string // ws:// or wss://, as RegisterCompute gave it (GameLiftServiceSdkEndpoint); a query is dropped
	ProcessID    string // must never have been used before; "" or "ManagedResource" for a new one, see NewProcessID
	HostID       string // the name of the registered compute
	FleetID      string

	AuthToken string // as GetComputeAuthToken gave it; wins over the keys

	// Instead of the token: a signature with these keys.
	Region, AccessKey, SecretKey string
	SessionToken                 string // for temporary keys; else ""
}

// LogValue keeps the secrets out of the log.
func (p ServerParameters) LogValue() slog.Value {
	return slog.GroupValue(slog.String("fleet", p.FleetID), slog.String("compute", p.HostID),
		slog.String("process", p.ProcessID))
}

// managedResource asks for a process id of the SDK's own choice. Source: server SDK 5, the environment variable
// GAMELIFT_SDK_PROCESS_ID.
const managedResource = "ManagedResource"

// NewProcessID returns a process id: the operating system's number of this process, and a random part, because systems
// reuse such numbers and the service accepts no id twice.
func NewProcessID() string {
	return fmt.Sprintf("%d-%s", os.Getpid(), uuid.NewString()[:8])
}

// complete applies the environment and fills in the process id.
func (p ServerParameters) complete(getenv func(string) string) ServerParameters {
	for name, to := range map[string]*string{
		"GAMELIFT_SDK_WEBSOCKET_URL": &p.WebSocketURL, "GAMELIFT_SDK_PROCESS_ID": &p.ProcessID,
		"GAMELIFT_SDK_HOST_ID":  &p.HostID,
		"GAMELIFT_SDK_FLEET_ID": &p.FleetID, "GAMELIFT_SDK_AUTH_TOKEN": &p.AuthToken, "GAMELIFT_REGION": &p.Region,
		"GAMELIFT_ACCESS_KEY": &p.AccessKey, "GAMELIFT_SECRET_KEY": &p.SecretKey,
		"GAMELIFT_SESSION_TOKEN": &p.SessionToken,
	} {
		*to = cmp.Or(getenv(name), *to)
	}
	if p.ProcessID == "" || p.ProcessID == managedResource {
		p.ProcessID = NewProcessID()
	}
	return p
}

// missing returns the name of a missing parameter; "" if there is none.
func (p ServerParameters) missing() string {
	switch {
	case p.WebSocketURL == "":
		return "WebSocketURL"
	case p.HostID == "":
		return "HostID"
	case p.FleetID == "":
		return "FleetID"
	case p.AuthToken == "" && (p.Region == "" || p.AccessKey == "" || p.SecretKey == ""):
		return "AuthToken, or Region, AccessKey and SecretKey,"
	}
	return ""
}

// ProcessParameters describe the process and its callbacks.
//
// Each callback runs in a goroutine of its own and under no lock, so it may call the Server and may block.
type ProcessParameters struct {
	// Port is where players connect, 1 to 60000.
	Port int
	// LogPaths are the files that the game server writes its log to.
	LogPaths []string
	// OnStartGameSession is called once, with the game session to host. Call ActivateGameSession when players can
	// connect. Required.
	OnStartGameSession func(GameSession)
	// OnUpdateGameSession is called when the game session has changed, by matchmaking for example. Optional.
	OnUpdateGameSession func(GameSessionUpdate)
	// OnProcessTerminate is called once when the service wants the process to end, at the latest at the time that
	// TerminationTime gives. Call ProcessEnding, Close, and exit. Without it the package calls the first two.
	OnProcessTerminate func()
	// OnHealthCheck is called about once a minute and returns within 50 s whether the process is healthy. A process
	// without it counts as healthy as long as it runs, as with the C++ SDK (the official Go SDK reports the opposite).
	OnHealthCheck func() bool

	// inOrder runs the callbacks about the game session one after the other, as a Host wants them; nil for a goroutine
	// each. It must not wait.
	inOrder func(callback func())
}

// validate returns an error for invalid parameters.
func (p *ProcessParameters) validate() error {
	const maxPort = 60000 // Source: server SDK 5, validation of ProcessParameters
	if p.Port < 1 || p.Port > maxPort {
		return invalid(processReady, "Port must be 1 to %d, not %d", maxPort, p.Port)
	}
	if p.OnStartGameSession == nil {
		return invalid(processReady, "OnStartGameSession must be given")
	}
	return nil
}
