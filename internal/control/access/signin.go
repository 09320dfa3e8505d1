package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"time"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The kinds of sign-in sessions.
const (
	KindSSO     = "sso"     // of a command line that uses SSO-OIDC
	KindConsole = "console" // of a browser
	KindLogin   = "login"   // of aws login
)

// A Start is a sign-in session to be started.
type Start struct {
	User       string
	UserID     string    // of the user that allowed it; "": it is the present one of that name
	Since      time.Time // when the user allowed it; zero: now
	Client     string    // its name, for people
	Kind       string
	Role       string // of KindLogin
	Thumbprint []byte // of the key that refresh tokens are bound to; nil: none
	Origin
}

// StartSignIn starts a sign-in session of a user who was authenticated.
func (a *Access) StartSignIn(ctx context.Context, s Start) (*catalog.SignIn, error) {
	now := a.cfg.Catalog.Now()
	lasts, idle := a.cfg.Lifetimes.SignIn, a.cfg.Lifetimes.SignIn
	if s.Kind == KindConsole {
		lasts, idle = a.cfg.Lifetimes.Console, a.cfg.Lifetimes.Idle
	}
	if err := a.stillAllowed(&s); err != nil {
		return nil, err
	}
	id := uuid.NewString()
	err := a.cfg.Catalog.Change(ctx, catalog.StartSignIn{SignIn: catalog.SignIn{
		ID: id, User: s.User, Client: clip(s.Client, 200), Kind: s.Kind, Role: s.Role, Thumbprint: s.Thumbprint,
		Created: now, Used: now, Rotated: now, Generation: 1, IdleEnds: now.Add(idle), Ends: now.Add(lasts),
		Address: address(s.Address),
	}})
	a.recordSignIn("SignIn", s.User, s.Origin, err)
	if err != nil {
		return nil, err
	}
	started, ok := a.state().SignIn(id)
	if !ok {
		return nil, fault.New(fault.Conflict, "The user signed in too often at the same time. Try again.")
	}
	return started, nil
}

// stillAllowed returns an error if the user has been replaced, or everything of it was ended, since it allowed a
// sign-in.
func (a *Access) stillAllowed(s *Start) error {
	user, ok := a.state().User(s.User)
	if !ok || s.UserID != "" && user.ID != s.UserID || !s.Since.IsZero() && event.At(s.Since) < user.NotBefore {
		return ErrDisabled
	}
	return nil
}

// Consented records that a signed-in person has allowed or refused a client.
func (a *Access) Consented(event string, p *Person, client string, allowed bool, from Origin) {
	var err error
	if !allowed {
		err = errRefused
	}
	r := a.signInRecord(event, p.User.Name, from, err)
	r.Details = map[string]string{"client": clip(client, 200)}
	a.cfg.Trail.Record(r)
}

var errRefused = fault.New(fault.AccessDenied, "The person refused the request.")

func clip(text string, most int) string {
	if len(text) > most {
		return text[:most]
	}
	return text
}

// touchAfter is how often the use of a console session is stored.
const touchAfter = 5 * time.Minute

// Touch notes that a console session is in use, which puts its end off.
func (a *Access) Touch(ctx context.Context, s *catalog.SignIn) error {
	now := a.cfg.Catalog.Now()
	if now.Sub(s.Used) < touchAfter {
		return nil
	}
	return a.cfg.Catalog.Change(ctx, catalog.TouchSignIn{ID: s.ID, At: now, IdleEnds: now.Add(a.cfg.Lifetimes.Idle)})
}

// Refresh returns new tokens for a refresh token. Parallel calls with the same token, within a minute, return the same
// ones. A token that was replaced longer ago ends the session: somebody else has it. The error is ErrInvalidGrant,
// ErrDisabled or a fault.
func (a *Access) Refresh(ctx context.Context, token string, thumbprint []byte, from Origin) (
	*Tokens, *catalog.SignIn, error,
) {
	c, p, err := a.read(refreshToken, token)
	if err == ErrDisabled {
		return nil, nil, err
	}
	if err != nil || subtle.ConstantTimeCompare(p.SignIn.Thumbprint, thumbprint) != 1 {
		return nil, nil, ErrInvalidGrant
	}
	idle := min(p.SignIn.Ends, a.cfg.Catalog.Now().Add(a.cfg.Lifetimes.SignIn))
	err = a.cfg.Catalog.Change(ctx, catalog.RotateSignIn{
		ID: p.SignIn.ID, From: c.generation, At: a.cfg.Catalog.Now(), IdleEnds: idle,
	})
	if fault.Is(err, fault.NotFound) {
		return nil, nil, ErrInvalidGrant
	}
	if err != nil {
		return nil, nil, err
	}
	s, ok := a.state().SignIn(p.SignIn.ID)
	if !ok { // the change ended it
		a.recordSignIn("RefreshTokenReplayed", p.User.Name, from, ErrInvalidGrant)
		return nil, nil, ErrInvalidGrant
	}
	t := a.Tokens(s)
	return &t, s, nil
}

// EndSignIn ends a session, and with it the keys that were issued in it.
func (a *Access) EndSignIn(ctx context.Context, id, reason string, from Origin) error {
	s, ok := a.state().SignIn(id)
	if !ok {
		return nil
	}
	err := a.cfg.Catalog.Change(ctx, catalog.EndSignIn{ID: id, Reason: reason})
	if fault.Is(err, fault.NotFound) {
		err = nil
	}
	a.recordSignIn("SignOut", s.User, from, err)
	return err
}

// EndSignIns ends all sessions of a user, and makes the keys that were issued to it void.
func (a *Access) EndSignIns(ctx context.Context, user string, from Origin) (n int, err error) {
	sessions := a.state().SignInsOf(user)
	err = a.changeUser(ctx, user, func(u *catalog.User) error {
		u.NotBefore = a.cfg.Catalog.Now() + 1 // of this moment, too
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, s := range sessions {
		a.recordSignIn("SignOut", s.User, from, nil)
	}
	return len(sessions), nil
}

// RoleKeys returns keys of a role for a signed-in person. seconds 0 is the role's maximum, an hour at most. The error
// is ErrNotAssigned or a fault.
func (a *Access) RoleKeys(_ context.Context, p *Person, role string, seconds int32, from Origin) (*Temporary, error) {
	r, ok := roleOf(a.state(), role)
	if !ok || !assigned(a.state(), p.User.Name, role) {
		a.recordIssue("GetRoleCredentials", p.User.Name, from, nil, ErrNotAssigned)
		return nil, ErrNotAssigned
	}
	lasts, err := duration(seconds, standardRoleSeconds, roleMaximum(r))
	if err != nil {
		return nil, err
	}
	now := a.cfg.Catalog.Now()
	t := a.issue(sealed{
		User: p.User.Name, UserID: p.User.ID, Role: r.Name, RoleID: r.ID, SessionName: p.User.Name,
		Arn: a.sessionArn(ssoRole(r), p.User.Name), SignIn: p.SignIn.ID, Assigned: true,
		Issued: int64(now), Expires: int64(now.Add(lasts)),
	})
	a.recordIssue("GetRoleCredentials", p.User.Name, from, t, nil)
	return t, nil
}

// ssoRole returns the name of a role in the ARNs of SSO sessions: AWSReservedSSO_<name>_<16 hex>, as AWS has them.
func ssoRole(r *catalog.Role) string {
	sum := sha256.Sum256([]byte(r.ID))
	const hex = "0123456789abcdef"
	suffix := make([]byte, 0, 16)
	for _, b := range sum[:8] {
		suffix = append(suffix, hex[b>>4], hex[b&15])
	}
	return "AWSReservedSSO_" + r.Name + "_" + string(suffix)
}

// roleMaximum returns the maximum duration of a role's sessions in seconds.
func roleMaximum(r *catalog.Role) int32 {
	if r.MaxDuration == 0 {
		return standardRoleSeconds
	}
	return r.MaxDuration
}

// inviteTime is how long an invitation is valid.
const inviteTime = 72 * time.Hour

// newInvite returns the token of an invitation, and what the catalog keeps of it.
func (a *Access) newInvite() (token string, hash []byte, ends event.Time) {
	secret := make([]byte, 32)
	rand.Read(secret)
	token = "mui_" + base64.RawURLEncoding.EncodeToString(secret)
	sum := sha256.Sum256([]byte(token))
	return token, sum[:], a.cfg.Catalog.Now().Add(inviteTime)
}

// ErrInvite reports an invitation that is unknown, used or expired.
var ErrInvite = fault.New(fault.NotFound, "This link was used already or has expired. Ask for a new one.")

// Invited returns the user who was invited with a token.
func (a *Access) Invited(token string) (*catalog.User, error) {
	if a.state().AccessSettings().LocalPasswordsOff {
		return nil, ErrInvite
	}
	sum := sha256.Sum256([]byte(token))
	user, ok := a.state().UserByInvite(sum[:])
	if !ok || user.Disabled || a.cfg.Catalog.Now() >= user.InviteEnds {
		return nil, ErrInvite
	}
	return user, nil
}

// AcceptInvite sets the password of an invited user. The link works once.
func (a *Access) AcceptInvite(ctx context.Context, token, password string, from Origin) (*catalog.User, error) {
	user, err := a.Invited(token)
	if err != nil {
		return nil, err
	}
	err = a.setPassword(ctx, user, password, user.Invite)
	a.recordSignIn("AcceptInvitation", user.Name, from, err)
	if err != nil {
		return nil, err
	}
	user, _ = a.state().User(user.Name)
	return user, nil
}

// setPassword stores a new password, if an invitation is still the user's; nil: in any case. What was issued to the
// user before is void.
func (a *Access) setPassword(ctx context.Context, user *catalog.User, password string, invite []byte) error {
	if user.Service {
		return fault.New(fault.InvalidRequest, "User %s is a service user, which has no password", user.Name)
	}
	if err := checkNewPassword(user.Name, password); err != nil {
		return err
	}
	hash, err := a.hashPassword(ctx, password)
	if err != nil {
		return err
	}
	return a.cfg.Catalog.Change(ctx, catalog.SetPassword{
		Name: user.Name, Password: hash, Invite: invite, NotBefore: a.cfg.Catalog.Now(),
	})
}
