// Package access decides who may do what: whom an access key authenticates, which calls its policies allow, and who may
// sign in. It manages users, groups, roles, policies, access keys, identity providers and sign-in sessions, which are
// records of the catalog.
//
// Nothing here is a second source of truth: an identity, the compiled policies and the opened keys are derived from the
// catalog of this node and derived again when its AccessVersion changes. Temporary keys and tokens are not stored. A
// temporary key is sealed in its session token, and refused when what it was issued for has ended: the user is disabled
// or deleted, its role deleted or unassigned, its sign-in session ended.
//
// All decisions are in one place, [Access.Allow], which endpoints call after they verified a signature and before they
// look at the rest of a request.
package access

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/crypto/argon2"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/control/idp"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/telemetry/loglimit"
)

// A Catalog keeps the records. It is a router.Router.
type Catalog interface {
	Catalog() *catalog.State // a frozen view
	Change(context.Context, catalog.Command) error
	Now() event.Time
}

// Config configures Access. All fields are required unless they say otherwise.
type Config struct {
	Region, Account string
	Secrets         *credentials.Secrets
	Catalog         Catalog
	Trail           *audit.Trail   // nil: nothing is recorded
	Used            journal.Bucket // the last use of access keys; nil: it is not kept
	Tokens          *idp.Verifier  // of tokens of identity providers; nil: none is accepted
	Lifetimes       Lifetimes
	Argon2id        Argon2id // nil: argon2.IDKey
	Clock           clockwork.Clock
	Log             *slog.Logger
}

// Lifetimes are how long sign-in lasts.
type Lifetimes struct {
	SignIn  time.Duration // a sign-in session, used or not; 0: 8 h
	Access  time.Duration // an access token; 0: 1 h. Clients refresh it when 15 minutes are left
	Console time.Duration // a console session; 0: 12 h
	Idle    time.Duration // a console session without a request; 0: 1 h
}

// Access is what the package documentation describes. It is safe for concurrent use.
type Access struct {
	cfg     Config
	lines   *loglimit.Limiter // of the log: callers are not authenticated yet
	derived atomic.Pointer[derived]
	tokens  tokenCache

	slot, suspectSlot slot // for hashing passwords

	argon2id   Argon2id
	hashMemory uint32 // KiB

	delays delays
	proofs proofs
	uses   uses
}

// New returns the access of a region.
func New(c Config) *Access {
	for value, standard := range map[*time.Duration]time.Duration{
		&c.Lifetimes.SignIn: 8 * time.Hour, &c.Lifetimes.Access: time.Hour,
		&c.Lifetimes.Console: 12 * time.Hour, &c.Lifetimes.Idle: time.Hour,
	} {
		if *value == 0 {
			*value = standard
		}
	}
	a := &Access{cfg: c, lines: loglimit.New(c.Clock), slot: newSlot(), suspectSlot: newSuspectSlot(),
		argon2id: c.Argon2id, hashMemory: hashMemory}
	if a.argon2id == nil {
		a.argon2id = argon2.IDKey
	}
	a.tokens.entries = map[string]*tokenEntry{}
	a.delays.init()
	a.proofs.used = map[string]time.Time{}
	a.uses.init()
	return a
}

// An Origin is where a request comes from.
type Origin struct {
	Address   netip.Addr
	TLS       bool
	UserAgent string
	RequestID string
	Region    string // that the request was signed for; "" for others
	Host      string // that the request of a page was sent to; "" for others
	Program   string // part of this process that makes the call, for the log; "": the console, or none
}

// derived is what follows from one version of the catalog's records of access.
type derived struct {
	now     func() time.Time
	version uint64
	state   *catalog.State
	keys    sync.Map      // access key id → *keyEntry
	sets    sync.Map      // "role/<name>" or "user/<name>" → policy.Set
	parsed  sync.Map      // text of a policy → *policy.Document
	epochs  []*epochEntry // the present one first
}

// current returns what follows from the catalog as it is.
func (a *Access) current() *derived {
	state := a.cfg.Catalog.Catalog()
	d := a.derived.Load()
	if d != nil && d.version == state.AccessVersion() {
		return d
	}
	next := &derived{now: a.now, version: state.AccessVersion(), state: state}
	next.epochs = a.openEpochs(state)
	a.derived.CompareAndSwap(d, next)
	return next
}

func (a *Access) now() time.Time { return a.cfg.Clock.Now() }

func (a *Access) state() *catalog.State { return a.cfg.Catalog.Catalog() }

// Trail returns the audit trail; its methods accept nil.
func (a *Access) Trail() *audit.Trail { return a.cfg.Trail }
