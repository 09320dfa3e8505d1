// Package container serves temporary keys to containers and game servers on this machine, in the way of the AWS
// container credentials: a client has the address in AWS_CONTAINER_CREDENTIALS_FULL_URI, and a token in
// AWS_CONTAINER_AUTHORIZATION_TOKEN, which it sends as it is in the header Authorization. All AWS SDKs know it, and
// fetch new keys before the present ones end.
//
// Source: AWS SDKs and Tools reference guide, "Container credential provider".
package container

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"time"

	"github.com/jonboulle/clockwork"
)

// Path is the path of the keys.
const Path = "/credentials/container"

// Credentials are keys as clients read them.
type Credentials struct {
	AccessKeyID     string `json:"AccessKeyId"`
	SecretAccessKey string
	Token           string    `json:",omitempty"` // session token
	Expiration      time.Time `json:",omitzero"`  // zero: they do not end, and are asked for each time
}

// renewal is how long before their end keys are replaced. Clients ask for new ones at about the same time.
const renewal = 5 * time.Minute

type handler struct {
	token       [sha256.Size]byte
	none        bool // no token was given, so that none is right
	credentials func(context.Context) (Credentials, error)
	clock       clockwork.Clock

	fetching chan struct{} // holds one value while cached is in use
	cached   Credentials
}

// New returns a handler that serves what credentials returns, at Path, to clients on this machine with a token; with an
// empty one to nobody. It calls credentials for one client at a time, and keeps the keys until 5 minutes before their
// end. If no newer ones can be had, it serves them until they end.
func New(token string, credentials func(context.Context) (Credentials, error), clock clockwork.Clock) http.Handler {
	return &handler{
		token: sha256.Sum256([]byte(token)), none: token == "", credentials: credentials, clock: clock,
		fetching: make(chan struct{}, 1),
	}
}

// A failure is an error as clients read it. Source: aws-sdk-go-v2, credentials/endpointcreds; other clients print it.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !local(r.RemoteAddr):
		answer(w, http.StatusForbidden, failure{"AccessDenied", "Keys are served to clients on the same machine only."})
	case !h.authorized(r):
		answer(w, http.StatusUnauthorized, failure{"AccessDenied",
			"The header Authorization is not the token. Set AWS_CONTAINER_AUTHORIZATION_TOKEN."})
	case r.URL.Path != Path:
		answer(w, http.StatusNotFound, failure{"NotFound", "The path must be " + Path + "."})
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		answer(w, http.StatusMethodNotAllowed, failure{"MethodNotAllowed", "The method must be GET."})
	default:
		keys, err := h.keys(r.Context())
		if err != nil {
			answer(w, http.StatusServiceUnavailable, failure{"CredentialsUnavailable", err.Error()})
			return
		}
		answer(w, http.StatusOK, keys)
	}
}

// local reports whether a peer is on this machine.
func local(peer string) bool {
	a, err := netip.ParseAddrPort(peer)
	return err == nil && a.Addr().Unmap().IsLoopback()
}

// authorized compares sums, so that the time does not depend on the token.
func (h *handler) authorized(r *http.Request) bool {
	given := sha256.Sum256([]byte(r.Header.Get("Authorization")))
	return subtle.ConstantTimeCompare(given[:], h.token[:]) == 1 && !h.none
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json") // the Go SDK knows no parameter
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that has gone
}

var errExpired = errors.New("the keys that can be had have expired")

// keys returns keys that do not end soon, or the best there are.
func (h *handler) keys(ctx context.Context) (Credentials, error) {
	select {
	case h.fetching <- struct{}{}:
	case <-ctx.Done():
		return Credentials{}, ctx.Err()
	}
	defer func() { <-h.fetching }()
	now := h.clock.Now()
	if now.Before(h.cached.Expiration.Add(-renewal)) {
		return h.cached, nil
	}
	keys, err := h.credentials(ctx)
	if err == nil && !keys.Expiration.IsZero() && !now.Before(keys.Expiration) {
		err = errExpired
	}
	switch {
	case err == nil:
		h.cached = keys
		return keys, nil
	case now.Before(h.cached.Expiration):
		return h.cached, nil
	}
	return Credentials{}, err
}
