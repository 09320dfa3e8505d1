package access

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/catalog"
)

// Errors of tokens. They do not tell why, because the caller is not authenticated.
var (
	ErrInvalidGrant = errors.New("the token is unknown, spent, or of another client")
	ErrInvalidToken = errors.New("the session has ended, or the token is not valid")
	ErrNotAssigned  = errors.New("the role is not assigned to the user")
	ErrDisabled     = errors.New("the user is disabled")
)

// A Person is who signed in.
type Person struct {
	User   *catalog.User
	SignIn *catalog.SignIn
}

// Tokens are what a client of a sign-in session has. They follow from the session: whoever computes them again gets the
// same ones, so that parallel refreshes have one result, on any node.
type Tokens struct {
	SignIn          string
	Access, Refresh string
	Expires         time.Time // of Access
}

// The kinds of tokens, with a prefix for scanners of secrets. Each has a key of its own.
const (
	accessToken  = "mua_"
	refreshToken = "mur_"
	cookieToken  = "muc_"
)

// A claim is the content of a token: epoch, generation, end in Unix seconds (0: the session's) and sign-in session,
// then a MAC of all that.
type claim struct {
	epoch, generation uint32
	ends              int64
	signIn            uuid.UUID
}

const claimSize = 4 + 4 + 8 + 16

func (c claim) bytes() []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, claimSize+32), c.epoch)
	b = binary.BigEndian.AppendUint32(b, c.generation)
	b = binary.BigEndian.AppendUint64(b, uint64(c.ends))
	return append(b, c.signIn[:]...)
}

// sign returns a token.
func (d *derived) sign(kind string, s *catalog.SignIn, generation uint32, ends time.Time) string {
	c := claim{epoch: d.epoch().Number, generation: generation}
	if c.signIn, _ = uuid.Parse(s.ID); !ends.IsZero() {
		c.ends = ends.Unix()
	}
	body := c.bytes()
	return kind + base64.RawURLEncoding.EncodeToString(append(body, d.epoch().MAC("token "+kind, string(body))...))
}

// read returns the content of a valid token and its session.
func (a *Access) read(kind, token string) (c claim, p *Person, err error) {
	text, ok := strings.CutPrefix(token, kind)
	data, err := base64.RawURLEncoding.DecodeString(text)
	if !ok || err != nil || len(data) != claimSize+32 {
		return c, nil, ErrInvalidToken
	}
	c.epoch = binary.BigEndian.Uint32(data)
	c.generation = binary.BigEndian.Uint32(data[4:])
	c.ends = int64(binary.BigEndian.Uint64(data[8:]))
	c.signIn = uuid.UUID(data[16:claimSize])
	d, now := a.current(), a.now()
	epoch, ok := d.epochOf(c.epoch, now)
	if !ok || !hmac.Equal(data[claimSize:], epoch.MAC("token "+kind, string(data[:claimSize]))) {
		return c, nil, ErrInvalidToken
	}
	if c.ends != 0 && now.Unix() >= c.ends {
		return c, nil, ErrInvalidToken
	}
	p, err = a.person(c.signIn.String(), now)
	return c, p, err
}

// person returns who is signed in by a session.
func (a *Access) person(id string, now time.Time) (*Person, error) {
	state := a.state()
	s, ok := state.SignIn(id)
	if !ok || !inUse(s, now) {
		return nil, ErrInvalidToken
	}
	user, ok := state.User(s.User)
	if !ok || s.Created < user.NotBefore {
		return nil, ErrInvalidToken
	}
	if user.Disabled {
		return nil, ErrDisabled
	}
	return &Person{User: user, SignIn: s}, nil
}

// inUse reports whether a session has not ended by itself. The catalog ends it a little later.
func inUse(s *catalog.SignIn, now time.Time) bool {
	return now.Before(s.Ends.Time()) && (s.IdleEnds == 0 || now.Before(s.IdleEnds.Time()))
}

// Tokens returns the present tokens of a session.
func (a *Access) Tokens(s *catalog.SignIn) Tokens {
	d := a.current()
	ends := max(s.Rotated, s.Created).Time().Add(a.cfg.Lifetimes.Access)
	if s.Ends.Time().Before(ends) {
		ends = s.Ends.Time()
	}
	return Tokens{SignIn: s.ID, Access: d.sign(accessToken, s, s.Generation, ends),
		Refresh: d.sign(refreshToken, s, s.Generation, time.Time{}), Expires: ends}
}

// Bearer returns who has an access token. The error is ErrInvalidToken or ErrDisabled.
func (a *Access) Bearer(token string) (*Person, error) {
	_, p, err := a.read(accessToken, token)
	return p, err
}

// Cookie returns the value of the cookie of a console session.
func (a *Access) Cookie(s *catalog.SignIn) string {
	return a.current().sign(cookieToken, s, 0, time.Time{})
}

// FromCookie returns who has a cookie. The error is ErrInvalidToken or ErrDisabled.
func (a *Access) FromCookie(value string) (*Person, error) {
	_, p, err := a.read(cookieToken, value)
	return p, err
}
