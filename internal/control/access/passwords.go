package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The cost of a password's hash. Source: OWASP, "Password Storage Cheat Sheet", argon2id.
const (
	hashMemory = 19 << 10 // KiB
	hashTime   = 2
	hashSize   = 32 // bytes
)

const (
	minPassword = 12  // characters
	maxPassword = 256 // bytes
)

// checkNewPassword rejects a weak password: length and common ones, no composition rules. Source: NIST SP 800-63B,
// 5.1.1.2.
func checkNewPassword(user, password string) error {
	switch {
	case len([]rune(password)) < minPassword:
		return fault.New(fault.InvalidRequest, "The password must have at least %d characters", minPassword)
	case len(password) > maxPassword:
		return fault.New(fault.InvalidRequest, "The password must have at most %d bytes", maxPassword)
	case strings.EqualFold(password, user):
		return fault.New(fault.InvalidRequest, "The password must differ from the user's name")
	case isGuessable(password):
		return fault.New(fault.InvalidRequest,
			"The password is among the first that others would try; choose another, such as several words")
	}
	return nil
}

// A passwordHash is the hash of a password with its parameters.
type passwordHash struct {
	memory, times uint32 // KiB, passes
	salt, sum     []byte
}

// String returns the PHC string.
func (h passwordHash) String() string {
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=1$%s$%s", argon2.Version, h.memory, h.times, b64(h.salt), b64(h.sum))
}

var errHash = errors.New("the stored hash of a password has an unknown form")

// parseHash reads a PHC string.
func parseHash(phc string) (h passwordHash, err error) {
	fields := strings.Split(phc, "$")
	if len(fields) != 6 || fields[1] != "argon2id" {
		return h, errHash
	}
	var version, lanes int
	_, err = fmt.Sscanf(fields[2]+" "+fields[3], "v=%d m=%d,t=%d,p=%d", &version, &h.memory, &h.times, &lanes)
	if err != nil || version != argon2.Version || lanes != 1 || h.memory > 1<<20 || h.times < 1 || h.times > 16 {
		return h, errHash
	}
	if h.salt, err = base64.RawStdEncoding.DecodeString(fields[4]); err != nil {
		return h, errHash
	}
	h.sum, err = base64.RawStdEncoding.DecodeString(fields[5])
	if err != nil || len(h.sum) < 16 || len(h.sum) > 64 { // an empty one would match every password
		return h, errHash
	}
	return h, nil
}

// newHash returns the present parameters, with salt and without a sum.
func (a *Access) newHash() passwordHash {
	h := passwordHash{memory: a.hashMemory, times: hashTime, salt: make([]byte, 16)}
	rand.Read(h.salt)
	return h
}

// weak reports whether a hash is cheaper to guess than the present ones.
func (a *Access) weak(h passwordHash) bool {
	return h.memory < a.hashMemory || h.times < hashTime || len(h.sum) < hashSize
}

// An Argon2id computes what argon2.IDKey does, perhaps in another process: see package hasher.
type Argon2id func(password, salt []byte, times, memory uint32, lanes uint8, size uint32) []byte

// sumOf computes the sum of a hash. The caller has a slot.
func (a *Access) sumOf(h passwordHash, password string, size int) []byte {
	return a.argon2id([]byte(password[:min(len(password), maxPassword)]), h.salt, h.times, h.memory, 1, uint32(size))
}

// matches compares a password with a hash in constant time. The caller has a slot.
func (a *Access) matches(h passwordHash, password string) bool {
	same := subtle.ConstantTimeCompare(a.sumOf(h, password, len(h.sum)), h.sum) == 1
	return same && len(password) <= maxPassword
}

// hashPassword returns the PHC string of a password. The error is that of takeSlot.
func (a *Access) hashPassword(ctx context.Context, password string) (string, error) {
	done, err := a.takeSlot(ctx, Origin{})
	if err != nil {
		return "", err
	}
	defer done()
	h := a.newHash()
	h.sum = a.sumOf(h, password, hashSize)
	return h.String(), nil
}

// A WaitError reports that a user, or an address, has failed too often: the caller may try again after a while.
type WaitError struct{ After time.Duration }

func (e *WaitError) Error() string {
	return fmt.Sprintf("too many failed attempts: try again in %s", e.After.Round(time.Second))
}

// ErrWrong reports a wrong name or password, or a user who may not sign in by password.
var ErrWrong = fault.New(fault.AccessDenied, "The name or the password is wrong.")

// CheckPassword returns the user with a name and password. The error is ErrWrong, whatever was wrong, a *WaitError, or
// a fault. All of it costs the same time.
func (a *Access) CheckPassword(ctx context.Context, name, password string, from Origin) (*catalog.User, error) {
	if err := a.mustWait(name, from); err != nil {
		return nil, err
	}
	user, hash, err := a.checkPassword(ctx, name, password, from)
	if err != nil {
		return nil, err
	}
	if a.weak(hash) {
		return a.rehash(ctx, user, password), nil
	}
	return user, nil
}

// mustWait returns a *WaitError if a user or an address has failed too often.
func (a *Access) mustWait(name string, from Origin) error {
	wait := a.delays.wait(name, from.Address, a.now())
	if wait <= 0 {
		return nil
	}
	err := &WaitError{wait}
	a.recordAttempt(name, from, err)
	return err
}

// checkPassword checks a password in a slot. Attempts that waited for it together are counted before the next is made.
func (a *Access) checkPassword(ctx context.Context, name, password string, from Origin) (
	user *catalog.User, hash passwordHash, err error,
) {
	done, err := a.takeSlot(ctx, from)
	if err != nil {
		return nil, hash, err
	}
	defer done()
	if err := a.mustWait(name, from); err != nil {
		return nil, hash, err
	}
	state := a.state()
	user, known := state.User(name)
	may := known && !user.Disabled && !user.Service && user.Password != "" && !state.AccessSettings().LocalPasswordsOff
	if may {
		if hash, err = parseHash(user.Password); err != nil {
			return nil, hash, fmt.Errorf("user %s: %w", name, err)
		}
	} else {
		hash = a.newHash() // of nobody, at the same cost
		hash.sum = make([]byte, hashSize)
	}
	if match := a.matches(hash, password); !match || !may {
		a.delays.failed(name, from.Address, a.now())
		a.recordAttempt(name, from, ErrWrong)
		return nil, hash, ErrWrong
	}
	a.delays.forget(name)
	return user, hash, nil
}

// rehash stores the hash of a right password again, with the present parameters. A failure is left to the next sign-in.
func (a *Access) rehash(ctx context.Context, user *catalog.User, password string) *catalog.User {
	hash, err := a.hashPassword(ctx, password)
	if err == nil {
		err = a.changeUser(ctx, user.Name, func(u *catalog.User) error {
			if u.Password == user.Password {
				u.Password = hash
			}
			return nil
		})
	}
	if err != nil {
		a.cfg.Log.Warn("password not hashed again", "user", user.Name, "err", err)
		return user
	}
	if again, ok := a.state().User(user.Name); ok {
		return again
	}
	return user
}

// Unlock forgets the failed attempts of a user, on this node.
func (a *Access) Unlock(name string) { a.delays.forget(name) }

// Failed attempts make later ones wait: a user's after userFailures in failureWindow, an address's after
// addressFailures.
const (
	userFailures    = 5
	addressFailures = 30
	failureWindow   = 15 * time.Minute
	longestDelay    = 15 * time.Minute
	maxDelays       = 20_000 // users and addresses that are remembered
)

// delays remember failed attempts.
type delays struct {
	mu       sync.Mutex
	failures map[string]*failures // "user <name>" and "address <address>"
}

type failures struct {
	count int
	last  time.Time
}

// userKey returns what a typed name counts as: its hash, because it can be long.
func userKey(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "user " + string(sum[:])
}

func (d *delays) init() { d.failures = map[string]*failures{} }

// wait returns how long a user or address must wait.
func (d *delays) wait(user string, from netip.Addr, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(d.left(userKey(user), userFailures, now), d.left("address "+subnet(from), addressFailures, now))
}

// left doubles the delay with each failure: 1 s, 2 s, 4 s …
func (d *delays) left(key string, free int, now time.Time) time.Duration {
	f, ok := d.failures[key]
	if !ok || f.count < free || now.Sub(f.last) > failureWindow {
		return 0
	}
	delay := longestDelay
	if n := f.count - free; n < 10 {
		delay = min(longestDelay, time.Second<<n)
	}
	return max(0, f.last.Add(delay).Sub(now))
}

func (d *delays) failed(user string, from netip.Addr, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range []string{userKey(user), "address " + subnet(from)} {
		f, ok := d.failures[key]
		if !ok || now.Sub(f.last) > failureWindow {
			d.makeRoom(now)
			f = &failures{}
			d.failures[key] = f
		}
		f.count++
		f.last = now
	}
}

// makeRoom forgets expired failures, and any of them if there are too many: an eighth, so that it is seldom.
func (d *delays) makeRoom(now time.Time) {
	if len(d.failures) < maxDelays {
		return
	}
	for key, f := range d.failures {
		if now.Sub(f.last) > failureWindow {
			delete(d.failures, key)
		}
	}
	for key := range d.failures {
		if len(d.failures) < maxDelays/8*7 {
			return
		}
		delete(d.failures, key)
	}
}

func (d *delays) forget(user string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.failures, userKey(user))
}

// suspected reports whether an address has failed of late.
func (d *delays) suspected(from netip.Addr, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, ok := d.failures["address "+subnet(from)]
	return ok && now.Sub(f.last) <= failureWindow
}

// subnet returns what counts as one address: of IPv6 the first 64 bits.
func subnet(a netip.Addr) string {
	if a.Is6() {
		p, _ := a.Prefix(64)
		return p.String()
	}
	return address(a)
}
