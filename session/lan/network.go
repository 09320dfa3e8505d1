package lan

import (
	"crypto/rand"
	"encoding/hex"

	"github.com/muster-gg/muster/session"
)

// A Network is the local network as one game sees it. Its methods may be called from any goroutine. It holds nothing
// between calls and need not be closed.
type Network struct {
	cfg   Config
	stats counters
	// scan lists the links of the machine. Tests have their own.
	scan func() ([]link, error)
}

var _ session.LAN = (*Network)(nil)

// New makes a Network and starts nothing. It fails with session.ErrInvalid.
func New(cfg Config) (*Network, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Network{cfg: cfg, scan: func() ([]link, error) { return systemLinks(cfg.Interfaces) }}, nil
}

// An instanceID is an announced session, over whichever link it is heard.
type instanceID [16]byte

func newInstanceID() (id instanceID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// sessionID is the session's name where the host has given none.
func (id instanceID) sessionID() string { return "lan-" + hex.EncodeToString(id[:]) }
