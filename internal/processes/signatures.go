package processes

import (
	"context"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// mostSignatures is the maximum number of remembered signatures: some 30 MB.
const mostSignatures = 200_000

// sweepPause is the minimum time between two deletions of expired signatures.
const sweepPause = time.Hour

// usedSignatures remembers signatures that are valid for longer than the tolerance for clocks, each until it expires,
// so that none is used twice: those of the C# server SDK outside UTC. It only knows those that were used here since the
// start; see decision 31. Its zero value is empty.
type usedSignatures struct {
	mu    sync.Mutex
	ends  map[string]time.Time // by signature
	swept time.Time
}

// use records a signature that expires at end. The error is an AccessDenied fault if it has been used, or no more can
// be remembered.
func (u *usedSignatures) use(signature string, end, now time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sweep(now)
	if _, used := u.ends[signature]; used {
		return errUsed()
	}
	if len(u.ends) >= mostSignatures {
		return fault.New(fault.AccessDenied,
			"Too many processes have signed with the local time of another zone than UTC. Run them with TZ=UTC.")
	}
	if u.ends == nil {
		u.ends = map[string]time.Time{}
	}
	u.ends[signature] = end
	return nil
}

// check rejects a signature that has been used.
func (u *usedSignatures) check(signature string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, used := u.ends[signature]; used {
		return errUsed()
	}
	return nil
}

// forget removes a signature whose connection failed, so that the process can try again.
func (u *usedSignatures) forget(signature string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.ends, signature)
}

// sweep removes expired signatures, at most once per sweepPause.
func (u *usedSignatures) sweep(now time.Time) {
	if now.Sub(u.swept) < sweepPause {
		return
	}
	u.swept = now
	for signature, end := range u.ends {
		if now.After(end) {
			delete(u.ends, signature)
		}
	}
}

// errUsed rejects a signature that was used before.
func errUsed() error {
	return fault.New(fault.AccessDenied, "The signature has been used. "+
		"Its date is not UTC, so that it is good for one connection: run the process with TZ=UTC.")
}

// checkSignature checks the signature that a server process may send instead of a token. once is the signature if it is
// valid for this connection only.
func (c *Connections) checkSignature(ctx context.Context, r *ConnectRequest, key Key) (once string, err error) {
	query := sigv4.ServerProcessQuery{
		ComputeID: r.ComputeName, FleetID: r.FleetID, ProcessID: r.ProcessID,
		Algorithm: r.SigV4.Algorithm, Credential: r.SigV4.Credential, Date: r.SigV4.Date,
		SecurityToken: r.SigV4.SecurityToken, Signature: r.SigV4.Signature,
	}
	now, ahead := c.cfg.Clock.Now(), time.Duration(0)
	var caller sigv4.Caller
	if r.SDKLanguage == "CSharp" {
		caller, ahead, err = c.verifier.VerifyLocalServerProcess(query, now)
	} else {
		caller, err = c.verifier.VerifyServerProcess(query, now)
	}
	if err != nil {
		return "", &fault.Error{Kind: fault.AccessDenied, Message: fault.Of(err).Message, Err: err}
	}
	if err := c.cfg.Allow(caller, key.Room.Fleet); err != nil {
		return "", err
	}
	if ahead == 0 {
		return "", c.signatures.check(query.Signature) // it may have been ahead before
	}
	return query.Signature, c.useOnce(ctx, &query, key, now)
}

// useOnce uses a signature that is valid for one connection. A process that is known has used it already, perhaps on
// another node or before a restart: it is signed for that process.
func (c *Connections) useOnce(ctx context.Context, q *sigv4.ServerProcessQuery, key Key, now time.Time) error {
	known, err := router.InRoom(ctx, c.router, key.Room, func(r *fleet.Room) bool {
		_, known := r.Process(key.Process)
		return known
	})
	switch {
	case err != nil:
		return err
	case known:
		return errUsed()
	}
	return c.signatures.use(q.Signature, sigv4.LocalSignatureEnd(q.Date, c.cfg.Skew), now)
}
