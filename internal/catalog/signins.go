package catalog

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// RefreshWindow is how long the previous refresh token of a sign-in stays good: several processes of a person refresh
// at once.
const RefreshWindow = 60 * time.Second

// The kinds of sign-ins.
const (
	SignInSSO     = "sso"     // of aws sso login
	SignInConsole = "console" // of a browser
	SignInLogin   = "login"   // of aws login
)

// The reasons for which the catalog itself ends sign-ins.
const (
	ReplayReason   = "replay"   // a refresh token was used again after RefreshWindow
	ExpiredReason  = "expired"  // IdleEnds or Ends has passed
	ReplacedReason = "replaced" // by a newer one, at the limit of the user
)

// A SignIn is a session of a person who has signed in. It holds no token: its refresh token names its id and
// generation. Its times are from the commands.
type SignIn struct {
	ID         string     `cbor:"1,keyasint,omitempty"`
	User       string     `cbor:"2,keyasint,omitempty"`
	Client     string     `cbor:"3,keyasint,omitempty"` // name of the program, as it says
	Kind       string     `cbor:"4,keyasint,omitempty" often:"sso|console|login"`
	Created    event.Time `cbor:"5,keyasint,omitempty"`
	Used       event.Time `cbor:"6,keyasint,omitempty"` // last: started, rotated or touched
	IdleEnds   event.Time `cbor:"7,keyasint,omitempty"` // put off by each use
	Ends       event.Time `cbor:"8,keyasint,omitempty"`
	Generation uint32     `cbor:"9,keyasint,omitempty"`  // of the refresh token, from 1
	Rotated    event.Time `cbor:"10,keyasint,omitempty"` // last, or Created
	Thumbprint []byte     `cbor:"11,keyasint,omitempty"` // of the DPoP key that the refresh token is bound to; nil: none
	Role       string     `cbor:"12,keyasint,omitempty"` // that the person has picked; "": none
	Address    string     `cbor:"13,keyasint,omitempty"` // of the client at the start
}

// StartSignIn starts a sign-in; Used, Generation and Rotated are of the event. The least recently used one of the user
// ends if there are too many. Starting one with the same id again succeeds. InvalidRequest, NotFound for the user,
// LimitExceeded; AccessDenied if the user is disabled, or Created is before its NotBefore.
type StartSignIn struct{ SignIn }

// RotateSignIn continues a sign-in with the refresh token of generation From. If it is the current one, the sign-in has
// the next generation afterwards. If it is the one before, which was rotated at most RefreshWindow before At, nothing
// changes: a parallel refresh. Otherwise the sign-in ends, with ReplayReason: the caller reads the state afterwards.
// NotFound if it has ended, AccessDenied if the user is disabled.
type RotateSignIn struct {
	ID       string     `cbor:"1,keyasint,omitzero"`
	From     uint32     `cbor:"2,keyasint,omitzero"`
	At       event.Time `cbor:"3,keyasint,omitzero"` // of the request; 0: when it is decided
	IdleEnds event.Time `cbor:"4,keyasint,omitzero"`
}

// TouchSignIn notes that a sign-in is in use. NotFound if it has ended, AccessDenied if the user is disabled.
type TouchSignIn struct {
	ID       string     `cbor:"1,keyasint,omitzero"`
	At       event.Time `cbor:"2,keyasint,omitzero"` // of the use; 0: when it is decided
	IdleEnds event.Time `cbor:"3,keyasint,omitzero"`
}

// EndSignIn ends a sign-in, if it has not ended.
type EndSignIn struct {
	ID     string `cbor:"1,keyasint,omitzero"`
	Reason string `cbor:"2,keyasint,omitzero"`
}

// SignInStarted follows StartSignIn; it holds the whole sign-in.
type SignInStarted struct{ SignIn }

// SignInRotated follows RotateSignIn.
type SignInRotated struct {
	ID         string     `cbor:"1,keyasint,omitempty"`
	Generation uint32     `cbor:"2,keyasint,omitempty"`
	At         event.Time `cbor:"3,keyasint,omitempty"`
	IdleEnds   event.Time `cbor:"4,keyasint,omitempty"`
}

// SignInTouched follows TouchSignIn.
type SignInTouched struct {
	ID       string     `cbor:"1,keyasint,omitempty"`
	At       event.Time `cbor:"2,keyasint,omitempty"`
	IdleEnds event.Time `cbor:"3,keyasint,omitempty"`
}

// SignInEnded ends a sign-in. Those of a deleted user, and those that a user's NotBefore ends, have no event.
type SignInEnded struct {
	ID     string `cbor:"1,keyasint,omitempty"`
	User   string `cbor:"2,keyasint,omitempty"`
	Reason string `cbor:"3,keyasint,omitempty"`
}

func (c StartSignIn) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.signIns.Get(c.ID); ok { // the id is random per request: this is a repetition
		return nil, nil
	}
	si := c.SignIn
	si.Used, si.Generation, si.Rotated = si.Created, 1, si.Created
	si.Thumbprint = listOf(si.Thumbprint)
	if err := si.check(); err != nil {
		return nil, err
	}
	if err := s.checkSigningIn(si); err != nil {
		return nil, err
	}
	ended, err := s.replaced(si.User)
	if err != nil {
		return nil, err
	}
	return append(ended, &SignInStarted{si}), nil
}

func (si SignIn) check() error {
	switch {
	case si.ID == "":
		return fault.New(fault.InvalidRequest, "ID is required")
	case si.Kind != SignInSSO && si.Kind != SignInConsole && si.Kind != SignInLogin:
		return fault.New(fault.InvalidRequest, "Kind must be one of %s, %s and %s", SignInSSO, SignInConsole,
			SignInLogin)
	case si.Created <= 0 || si.Ends <= si.Created || si.IdleEnds <= si.Created:
		return fault.New(fault.InvalidRequest, "Created is required, and Ends and IdleEnds must be after it")
	}
	return checkTexts("ID", si.ID, "Client", si.Client, "Role", si.Role, "Address", si.Address)
}

// checkSigningIn rejects a sign-in of somebody who may not sign in.
func (s *State) checkSigningIn(si SignIn) error {
	u := s.user(si.User)
	switch {
	case u == nil:
		return userNotFound(si.User)
	case u.Service:
		return errServiceUser
	case u.Disabled:
		return userDisabled(u.Name)
	case si.Created < u.NotBefore:
		return fault.New(fault.AccessDenied, "The sign-in of user %s was ended while it began. Sign in again.", u.Name)
	}
	return nil
}

func userDisabled(name string) error {
	return fault.New(fault.AccessDenied, "User %s is disabled", name)
}

// replaced ends the least recently used sign-ins of a user that make room for another one.
func (s *State) replaced(user string) (ended []Event, err error) {
	list := s.SignInsOf(user)
	slices.SortStableFunc(list, func(a, b *SignIn) int { return cmp.Compare(a.Used, b.Used) })
	over := max(0, len(list)-s.limits.SignInsPerUser+1)
	if over > len(list) { // the limit is 0
		return nil, fault.New(fault.LimitExceeded, "The limit of %d sign-ins of a user is reached",
			s.limits.SignInsPerUser)
	}
	if err := checkLimit(s.signIns.Len()-over, s.limits.SignIns, "sign-ins"); err != nil {
		return nil, err
	}
	for _, si := range list[:over] {
		ended = append(ended, si.ended(ReplacedReason))
	}
	return ended, nil
}

func (si *SignIn) ended(reason string) Event {
	return &SignInEnded{ID: si.ID, User: si.User, Reason: reason}
}

func (c RotateSignIn) decide(s *State, now event.Time) ([]Event, error) {
	at := cmp.Or(c.At, now)
	si, err := s.signInInUse(c.ID, now, at, c.IdleEnds)
	switch {
	case err != nil:
		return nil, err
	case c.From == 0:
		return nil, fault.New(fault.InvalidRequest, "From is required")
	case c.From == si.Generation:
		return []Event{&SignInRotated{ID: c.ID, Generation: c.From + 1, At: at, IdleEnds: c.IdleEnds}}, nil
	case c.From+1 == si.Generation && at.Sub(si.Rotated) <= RefreshWindow:
		return nil, nil
	}
	return []Event{si.ended(ReplayReason)}, nil
}

// signInInUse returns a sign-in that may go on from at to idleEnds.
func (s *State) signInInUse(id string, now, at, idleEnds event.Time) (*SignIn, error) {
	si, ok := s.signIns.Get(id)
	if !ok || si.deadline() <= now {
		return nil, fault.New(fault.NotFound, "The sign-in has ended. Sign in again.")
	}
	if u := s.user(si.User); u.Disabled {
		return nil, userDisabled(u.Name)
	}
	if idleEnds <= at {
		return nil, fault.New(fault.InvalidRequest, "IdleEnds must be after the present use")
	}
	return si, nil
}

func (c TouchSignIn) decide(s *State, now event.Time) ([]Event, error) {
	at := cmp.Or(c.At, now)
	si, err := s.signInInUse(c.ID, now, at, c.IdleEnds)
	if err != nil || si.Used >= at {
		return nil, err
	}
	return []Event{&SignInTouched{ID: c.ID, At: at, IdleEnds: c.IdleEnds}}, nil
}

func (c EndSignIn) decide(s *State, _ event.Time) ([]Event, error) {
	si, ok := s.signIns.Get(c.ID)
	if !ok {
		return nil, nil
	}
	if err := checkTexts("Reason", c.Reason); err != nil {
		return nil, err
	}
	return []Event{si.ended(c.Reason)}, nil
}

func (e *SignInStarted) apply(s *State) { s.putSignIn(&e.SignIn) }

func (e *SignInRotated) apply(s *State) {
	if old, ok := s.signIns.Get(e.ID); ok {
		si := *old
		si.Generation, si.Used, si.Rotated, si.IdleEnds = e.Generation, e.At, e.At, e.IdleEnds
		s.putSignIn(&si)
	}
}

func (e *SignInTouched) apply(s *State) {
	if old, ok := s.signIns.Get(e.ID); ok {
		si := *old
		si.Used, si.IdleEnds = e.At, e.IdleEnds
		s.putSignIn(&si)
	}
}

func (e *SignInEnded) apply(s *State) { s.deleteSignIn(e.ID) }

// putSignIn stores a sign-in and its deadline, if its user exists.
func (s *State) putSignIn(si *SignIn) {
	s.deleteSignIn(si.ID)
	if s.user(si.User) == nil {
		return
	}
	s.signIns.Set(si.ID, si)
	s.signInsByUser.Set(join(si.User, si.ID), si)
	s.dues.Set(due(si.deadline(), dueSignIn, si.ID), struct{}{})
}

func (s *State) deleteSignIn(id string) {
	if si, ok := s.signIns.Delete(id); ok {
		s.signInsByUser.Delete(join(si.User, si.ID))
		s.dues.Delete(due(si.deadline(), dueSignIn, si.ID))
	}
}

// deadline returns when the sign-in expires.
func (si *SignIn) deadline() event.Time {
	return min(si.IdleEnds, si.Ends)
}

// expireSignIn ends an expired sign-in.
func (s *State) expireSignIn(id string) Event {
	si, _ := s.signIns.Get(id)
	return si.ended(ExpiredReason)
}

// SignIn finds a sign-in that has not ended.
func (s *State) SignIn(id string) (*SignIn, bool) { return s.signIns.Get(id) }

// SignInsOf returns the sign-ins of a user by id.
func (s *State) SignInsOf(user string) []*SignIn { return entries(&s.signInsByUser, user) }

// SignIns returns how many sign-ins there are.
func (s *State) SignIns() int { return s.signIns.Len() }
