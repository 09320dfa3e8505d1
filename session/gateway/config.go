package gateway

import (
	"net/http"

	"github.com/jonboulle/clockwork"
)

// The paths of the three original calls, and of their forms for a service without fleets and locations.
const (
	DefaultCreateURI = "/create_session"
	DefaultFindURI   = "/find_session"
	DefaultJoinURI   = "/join_session"

	LocalCreateURI = "/create_session_local"
	LocalFindURI   = "/find_session_local"
	LocalJoinURI   = "/join_session_local"
)

// Config says which gateway to reach, and how. Only URL is required.
type Config struct {
	// URL is the gateway's base, with the stage if it has one, for example http://127.0.0.1:3000 or
	// https://api.example.com/Prod.
	URL string
	// BearerToken and APIKey are what the gateway wants to see: sent as "Authorization: Bearer …" and "X-Api-Key: …".
	// "" sends none.
	BearerToken, APIKey string
	// CreateURI, FindURI and JoinURI are the paths of the three original calls, after URL. "" is the default.
	CreateURI, FindURI, JoinURI string
	// HTTPClient makes the calls; nil for http.DefaultClient. Redirects are not followed, lest the keys go elsewhere.
	HTTPClient *http.Client
	// Clock notices streams of events that have gone silent; nil for the real one.
	Clock clockwork.Clock
}
