package supervisor

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-gg/muster/internal/agent/plan"
)

const (
	recordFile = "record.json"
	endedFile  = "ended.json"
	exitFile   = "exit.json"
	claimFile  = "claim"
	notesFile  = "notes.json"
	socketFile = "s"
)

// MaxSocketPath is the maximum length in bytes of the path of a Unix socket. Source: macOS, sys/un.h; Linux has 107.
const MaxSocketPath = 103

// A Record identifies a game server.
type Record struct {
	ID      string // process id for the service
	Fleet   string
	Compute string
	Entry   plan.Entry
	Port    int    // leased for it; 0: none
	Build   string `json:",omitempty"` // besides the fleet's own; "": that one
	WorkDir string `json:",omitempty"` // "": the agent's
	Started time.Time
}

// A Spec is what a supervisor runs.
type Spec struct {
	Program string // absolute path
	Args    []string
	Dir     string   // working directory
	Env     []string // NAME=value

	// Cgroup is the directory of a cgroup to create for the game server; "": none. It is used on Linux alone, as is
	// NoNewPrivs, with which neither it nor its processes get privileges from the programs that they start.
	Cgroup     string `json:",omitempty"`
	NoNewPrivs bool   `json:",omitempty"`

	User *User `json:",omitempty"` // that runs the game server; nil: that of the supervisor
}

// A User is a user of the system with its groups. Programs that run as another user than root have no capabilities.
type User struct {
	UID, GID uint32
	Groups   []uint32 `json:",omitempty"` // beside GID
}

// An Exit is the end of a game server.
type Exit struct {
	Code  int // exit code; -N: ended by signal N; -1 also if it is unknown
	Ended time.Time

	// CPU time, and the most memory that was resident, in bytes; 0: unknown.
	User, System time.Duration `json:",omitzero"`
	MaxRSS       int64         `json:",omitzero"`

	OutOfMemory bool `json:",omitempty"` // the kernel has ended one of its processes: its cgroup had no memory left
}

// Notes are what the log of a game server needs, beside its output. They are in its directory as long as its log is to
// be stored.
type Notes struct {
	LogPaths []string  `json:",omitempty"` // of the game, as it has reported them
	Sessions []Session `json:",omitempty"` // that it has hosted, in this order
	Reason   string    `json:",omitempty"` // why it has ended, for the service
}

// A Session is a game session of a game server.
type Session struct {
	ID        string
	Activated time.Time
}

// Note replaces the notes of a directory.
func Note(dir string, n Notes) error { return writeJSON(dir, notesFile, n) }

// Stored removes the notes of a directory: its log is stored, or never will be.
func Stored(dir string) error { return absentIsFine(os.Remove(filepath.Join(dir, notesFile))) }

func absentIsFine(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func writeJSON(dir, name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path+"~", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+"~", path)
}

func readJSON(dir, name string, value any) error {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	return json.Unmarshal(data, value)
}

// claim creates the claim of a directory. False: it exists.
func claim(dir string) (bool, error) {
	f, err := os.OpenFile(filepath.Join(dir, claimFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if os.IsExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}
