package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strconv"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/agent/plan"
	"github.com/muster-gg/muster/internal/agent/supervisor"
)

// Errors of an API. All others are worth another attempt.
var (
	// ErrRefused is an answer that another attempt does not change.
	ErrRefused = errors.New("the service refuses the call")
	// ErrNotRegistered is the answer about a compute that is not registered any more.
	ErrNotRegistered = errors.New("the compute is not registered")
)

// An API is what an agent calls before it connects. Its methods are for one compute.
type API interface {
	// Register registers the compute; again if it is registered already.
	Register(ctx context.Context) (Endpoints, error)
	// AuthToken returns a token of the compute and when it expires.
	AuthToken(ctx context.Context) (token string, expires time.Time, err error)
}

// Endpoints are the WebSocket URLs of a service.
type Endpoints struct {
	SDK   string // for game servers
	Agent string
}

// Telemetry receives what game servers measure. *telemetry.Receiver implements it.
type Telemetry interface {
	// Environ returns the variables that lead game servers to it, NAME=value each.
	Environ() []string
	// Began adds a game server that is being started, with a PID of 0, and then its PID.
	Began(id string, pid int)
	// Ended removes it, and reports the game session that it had named and whether it has crashed.
	Ended(id string) (session string, crashed bool)
}

// Config configures an agent. API, Fleet, Compute, Data and Supervisor are required.
type Config struct {
	API            API
	Fleet, Compute string
	// Data is the directory for the game servers and their output. One agent at a time may use it.
	Data string
	// Supervisor returns the command that runs supervisor.Supervise for a directory.
	Supervisor func(dir string) *exec.Cmd
	// Runtime replaces the fleet's runtime configuration; nil: the fleet's.
	Runtime []plan.Entry
	// Ports are leased for {port} in Parameters; nil: there are none.
	Ports *Ports
	// Environ is what game servers inherit, NAME=value each.
	Environ []string
	// WorkDir is the working directory of game servers; "": the agent's.
	WorkDir string
	// Place returns the program of a launch path and its working directory, in place of the path and WorkDir. Another
	// build than the fleet's own ("") is one of Builds. An error is that of the path. It is called before each launch,
	// by one goroutine. nil: paths are as they are.
	Place func(launchPath, build string) (program, dir string, err error)
	// Builds returns the ids of the builds besides the fleet's own from which the service may have game servers
	// started, in order. It is called before each heartbeat, by one goroutine; Refreshed receives an element when it
	// returns others than before. nil: there are none.
	Builds    func() []string
	Refreshed <-chan struct{}
	// Held reports whether no game server is to be started now. It is called every few seconds and after each change,
	// by one goroutine. nil: it never is so.
	Held func() bool
	// Replaced receives an element when Place returns other programs than before: waits after crashes end. nil: never.
	Replaced <-chan struct{}
	// Cgroup is the directory of the cgroup below which each game server gets one, with MemoryMiB as its memory; "":
	// none. NoNewPrivs keeps game servers from getting privileges by the programs that they start. Linux alone.
	Cgroup     string
	MemoryMiB  int64
	NoNewPrivs bool
	// User runs the game servers; nil: that of the agent. It must be able to reach their programs and directories.
	User *supervisor.User
	// NoticeFile announces the end of the machine: a time in ISO 8601. "": none.
	NoticeFile string
	// End ends the compute when it is closed, as if the service had ended it: the service asks the game servers to
	// end, and those that are left after six minutes are ended. nil: never.
	End <-chan struct{}
	// Observe is called with the state of the compute when it has changed, by one goroutine. nil: it is not.
	Observe func(State)
	// Telemetry receives metrics and crash reports of the game servers; nil: nothing does.
	Telemetry Telemetry
	// Keep leaves the game servers running when the agent is stopped, for the next one.
	Keep  bool
	TLS   *tls.Config     // for wss:// URLs; nil: the system's roots
	Clock clockwork.Clock // nil: the real one
	Log   *slog.Logger    // nil: none
}

// A State is the state of a compute.
type State struct {
	Processes int               // that run, or are being started
	Dirs      map[string]string // their working directories by id, if Config.Place is set
	Loop      *plan.Crash       // the last crash of an entry in a crash loop; nil: none is
}

func (c *Config) fill() {
	if c.Ports == nil {
		c.Ports = NewPorts(0, 0)
	}
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

// maxEntries and maxCount bound a runtime configuration. Source: API reference, RuntimeConfiguration.
const (
	maxEntries = 50
	maxCount   = 50
)

// ParseRuntime reads a runtime configuration in JSON, as RuntimeConfiguration of the API. Numbers may be strings.
func ParseRuntime(text []byte) ([]plan.Entry, error) {
	var c struct{ ServerProcesses []serverProcess }
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("read the runtime configuration: %w", err)
	}
	return entriesOf(c.ServerProcesses)
}

// A serverProcess is an entry on the wire.
type serverProcess struct {
	LaunchPath           string
	Parameters           string
	ConcurrentExecutions number
}

// A number is an integer, or a string of one.
type number int

// UnmarshalJSON implements json.Unmarshaler. null is 0.
func (n *number) UnmarshalJSON(text []byte) error {
	text = bytes.Trim(text, `"`)
	if string(text) == "null" {
		return nil
	}
	i, err := strconv.ParseInt(string(text), 10, 32)
	*n = number(i)
	return err
}

func entriesOf(processes []serverProcess) (entries []plan.Entry, err error) {
	if len(processes) > maxEntries {
		return nil, fmt.Errorf("the runtime configuration has %d entries: at most %d are allowed", len(processes),
			maxEntries)
	}
	for i, p := range processes {
		if p.LaunchPath == "" || p.ConcurrentExecutions < 1 || p.ConcurrentExecutions > maxCount {
			return nil, fmt.Errorf("entry %d of the runtime configuration: it needs a LaunchPath, and "+
				"ConcurrentExecutions of 1 to %d", i+1, maxCount)
		}
		entries = append(entries, plan.Entry{LaunchPath: p.LaunchPath, Parameters: p.Parameters,
			Count: int(p.ConcurrentExecutions)})
	}
	return entries, nil
}
