package signin

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/journal"
)

const (
	deviceLife     = 10 * time.Minute // AWS's command line waits as long
	deviceInterval = time.Second      // between polls

	// minGap is from which a poll is too early. A client that waits for the interval can seem quicker on the network,
	// and slow_down costs it 5 s for each poll that follows.
	minGap = deviceInterval / 2

	// freePolls never earn slow_down: AWS's command line sends two at once.
	freePolls = 2

	devicePurpose = "device code"
	devicePrefix  = "mud_" // for scanners of secrets

	maxPending = 10_000 // polls that a node remembers
	maxWaiting = 20     // device grants of one address
)

// alphabet is that of user codes: no vowels, so no words. Source: RFC 8628, section 6.1.
const (
	alphabet     = "BCDFGHJKLMNPQRSTVWXZ"
	userCodeSize = 8
)

// The states of a device grant.
const (
	pending  = "pending"
	approved = "approved"
	denied   = "denied"
)

// A deviceGrant is what a client on another device asked for. It is stored under the hash of its user code; whoever has
// the user code can allow it, whoever has the device code redeems it.
type deviceGrant struct {
	ID     string    `json:"id"` // a later grant can have the same user code
	State  string    `json:"state"`
	Client string    `json:"client"` // name
	From   string    `json:"from"`   // address
	Scopes []string  `json:"scopes,omitempty"`
	Asked  time.Time `json:"asked"`
	User   string    `json:"user,omitempty"` // who allowed it, by name and id
	UserID string    `json:"userId,omitempty"`
	At     time.Time `json:"at,omitzero"` // when it was decided

	code     string // user code
	revision uint64
}

// deviceCode is the content of a device code. It is sealed for its client, so that only real ones are looked up.
type deviceCode struct {
	ID       string    `json:"i"`
	UserCode string    `json:"u"`
	Asked    time.Time `json:"a"`
}

type poll struct {
	n    int
	last time.Time
}

func expired(asked, now time.Time) bool { return !now.Before(asked.Add(deviceLife + leeway)) }

func (h *Handler) startDevice(v *visit) error {
	var in struct {
		ClientID     string `json:"clientId"`
		ClientSecret string `json:"clientSecret"`
		StartURL     string `json:"startUrl"`
	}
	if err := read(v, &in, invalidRequest); err != nil {
		return err
	}
	c, err := h.client(in.ClientID, in.ClientSecret)
	if err != nil {
		return err
	}
	if in.StartURL == "" {
		return invalidRequest.because("startUrl is missing.")
	}
	if err := h.checkStartURL(in.StartURL); err != nil {
		return err
	}
	if wait, ok := h.requests.add(network(v.from.Address), maxWaiting); !ok {
		return &refusal{why: tooMany, after: wait}
	}
	g := &deviceGrant{ID: random(), State: pending, Client: c.Name, From: v.from.Address.String(), Scopes: c.Scopes,
		Asked: h.Clock.Now()}
	if err := h.createDevice(v.r.Context(), g); err != nil {
		return err
	}
	content, err := json.Marshal(deviceCode{g.ID, g.code, g.Asked})
	if err != nil {
		return err
	}
	sealed := h.Access.Seal(devicePurpose, content, sum(in.ClientID))
	h.write(v, 200, struct {
		DeviceCode string `json:"deviceCode"`
		UserCode   string `json:"userCode"`
		URI        string `json:"verificationUri"`
		Complete   string `json:"verificationUriComplete"`
		ExpiresIn  int    `json:"expiresIn"`
		Interval   int    `json:"interval"`
	}{devicePrefix + base64.RawURLEncoding.EncodeToString(sealed), spell(g.code), h.PublicURL + devicePath,
		h.PublicURL + devicePath + "?user_code=" + spell(g.code), int(deviceLife / time.Second),
		int(deviceInterval / time.Second)})
	return nil
}

// createDevice stores a grant under a user code that is not in use.
func (h *Handler) createDevice(ctx context.Context, g *deviceGrant) error {
	value, err := json.Marshal(g)
	if err != nil {
		return err
	}
	const tries = 5 // of 2.56e10 codes at most 10,000 are in use
	for range tries {
		g.code = newUserCode()
		if _, err = h.Grants.Create(ctx, deviceKey(g.code), value); !errors.Is(err, journal.ErrExists) {
			return err
		}
	}
	return err
}

func deviceKey(code string) string { return "device." + hex.EncodeToString(sum(code)) }

func newUserCode() string {
	code := make([]byte, 0, userCodeSize)
	for len(code) < userCodeSize {
		var b [1]byte
		rand.Read(b[:])
		if n := int(b[0]); n < 256-256%len(alphabet) { // every letter is as likely
			code = append(code, alphabet[n%len(alphabet)])
		}
	}
	return string(code)
}

// spell returns a user code as people read it.
func spell(code string) string { return code[:userCodeSize/2] + "-" + code[userCodeSize/2:] }

// userCode returns the user code that a person typed. Case, spaces and hyphens do not matter.
func userCode(typed string) (code string, ok bool) {
	var b strings.Builder
	for _, r := range strings.ToUpper(typed) {
		switch {
		case r == ' ' || r == '-' || r == '\t' || r == '\u00a0' || r == '\u2010' || r == '\u2011' || r == '\u2013':
		case strings.ContainsRune(alphabet, r) && b.Len() < userCodeSize:
			b.WriteRune(r)
		default:
			return "", false
		}
	}
	return b.String(), b.Len() == userCodeSize
}

// device returns the grant of a user code, whatever its state. The error is journal.ErrNoValue if there is none.
func (h *Handler) device(ctx context.Context, code string) (*deviceGrant, error) {
	value, revision, err := h.Grants.Get(ctx, deviceKey(code))
	if err != nil {
		return nil, err
	}
	g := &deviceGrant{code: code, revision: revision}
	return g, json.Unmarshal(value, g)
}

// decideDevice stores what a person decided. The error is journal.ErrChanged if somebody else has decided meanwhile.
func (h *Handler) decideDevice(ctx context.Context, g *deviceGrant, state string, by *catalog.User) error {
	decided := *g
	decided.State, decided.User, decided.UserID, decided.At = state, by.Name, by.ID, h.Clock.Now()
	value, err := json.Marshal(decided)
	if err != nil {
		return err
	}
	_, err = h.Grants.Update(ctx, deviceKey(g.code), value, g.revision)
	return err
}

var errDeviceExpired = expiredToken.because("The device code has expired or was used. Start the sign-in again.")

// redeemDevice returns the allowed grant of a device code, once: to the caller that deletes it. While the person has
// not decided, the error is AuthorizationPendingException, or SlowDownException.
func (h *Handler) redeemDevice(ctx context.Context, clientID, sent string) (*deviceGrant, error) {
	code, err := h.openDevice(clientID, sent)
	if err != nil {
		return nil, err
	}
	if expired(code.Asked, h.Clock.Now()) {
		return nil, errDeviceExpired
	}
	g, err := h.device(ctx, code.UserCode)
	switch {
	case errors.Is(err, journal.ErrNoValue):
		return nil, errDeviceExpired
	case err != nil:
		return nil, err
	case g.ID != code.ID:
		return nil, errDeviceExpired
	case g.State == pending:
		return nil, h.pace(g.ID)
	}
	if g.State == denied {
		return nil, accessDenied.because("The request was refused in the browser.")
	}
	err = h.Grants.Delete(ctx, deviceKey(g.code), g.revision)
	if errors.Is(err, journal.ErrChanged) || errors.Is(err, journal.ErrNoValue) {
		return nil, errDeviceExpired // redeemed meanwhile
	}
	if from, bad := netip.ParseAddr(g.From); err == nil && bad == nil {
		h.requests.remove(network(from))
	}
	return g, err
}

func (h *Handler) openDevice(clientID, sent string) (code deviceCode, err error) {
	text, ok := strings.CutPrefix(sent, devicePrefix)
	data, err := base64.RawURLEncoding.DecodeString(text)
	if ok && err == nil {
		if data, err = h.Access.Open(devicePurpose, data, sum(clientID)); err == nil {
			err = json.Unmarshal(data, &code)
		}
	}
	if !ok || err != nil {
		return code, invalidGrant.because("The device code is unknown, or of another client.")
	}
	return code, nil
}

// pace answers a poll of a pending grant. Each node counts the polls that it receives.
func (h *Handler) pace(id string) (err error) {
	h.polls.use(id, func(p *poll, now time.Time, _ bool) {
		p.n++
		if p.n > freePolls && now.Sub(p.last) < minGap {
			err = slowDown.because("The client asks more often than every %d s.", deviceInterval/time.Second)
		} else {
			err = authorizationPending.because("The request waits for approval.")
		}
		p.last = now
	})
	return err
}
