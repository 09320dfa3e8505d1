package access

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// A Client is a registered client of SSO-OIDC. Registrations are not stored, because everybody may register: the
// client's id is the registration, sealed, and its secret a MAC of the id.
type Client struct {
	Name         string    `json:"n"`
	Grants       []string  `json:"g,omitempty"`
	RedirectURIs []string  `json:"r,omitempty"`
	Scopes       []string  `json:"s,omitempty"`
	Issuer       string    `json:"i,omitempty"`
	Expires      time.Time `json:"e"`
}

// Clients have a key of their own, and the prefix of their secrets is for scanners.
const (
	clientPurpose = "client"
	clientPrefix  = "mus_"
)

// ErrUnknownClient reports a client with a wrong or expired registration.
var ErrUnknownClient = errors.New("the client is not registered, or its registration has expired")

// SealClient returns the id and secret of a client.
func (a *Access) SealClient(c Client) (id, secret string) {
	body, err := json.Marshal(c)
	if err != nil {
		panic(err) // plain fields
	}
	id = base64.RawURLEncoding.EncodeToString(a.Seal(clientPurpose, body, nil))
	return id, clientPrefix + base64.RawURLEncoding.EncodeToString(a.current().epoch().MAC(clientPurpose, id))
}

// OpenClient checks the id and secret of a client.
func (a *Access) OpenClient(id, secret string) (*Client, error) {
	c, err := a.ClientOf(id)
	if err != nil {
		return nil, err
	}
	given, _ := strings.CutPrefix(secret, clientPrefix)
	mac, err := base64.RawURLEncoding.DecodeString(given)
	if err != nil {
		return nil, ErrUnknownClient
	}
	for _, e := range a.current().epochs {
		if hmac.Equal(mac, e.MAC(clientPurpose, id)) {
			return c, nil
		}
	}
	return nil, ErrUnknownClient
}

// ClientOf returns the client with an id, which anybody can present.
func (a *Access) ClientOf(id string) (*Client, error) {
	data, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil {
		return nil, ErrUnknownClient
	}
	body, err := a.Open(clientPurpose, data, nil)
	c := new(Client)
	if err != nil || json.Unmarshal(body, c) != nil || !a.now().Before(c.Expires) {
		return nil, ErrUnknownClient
	}
	return c, nil
}

// Seal encrypts with the present key of a purpose. The result opens only with the same associated data.
func (a *Access) Seal(purpose string, plain, bound []byte) []byte {
	epoch := a.current().epoch()
	return append(binary.BigEndian.AppendUint32(nil, epoch.Number), epoch.Seal(purpose, plain, bound)...)
}

// Open decrypts what Seal returned, on any node, until its epoch ends.
func (a *Access) Open(purpose string, sealed, bound []byte) ([]byte, error) {
	if len(sealed) < 4 {
		return nil, errors.New("the sealed text is too short")
	}
	epoch, ok := a.current().epochOf(binary.BigEndian.Uint32(sealed), a.now())
	if !ok {
		return nil, errors.New("the sealed text is of an epoch that has ended")
	}
	return epoch.Open(purpose, sealed[4:], bound)
}
