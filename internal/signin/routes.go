package signin

import (
	"net/http"
	"strings"
)

// A kind of requests has its own form of errors.
type kind int

const (
	oidcKind   kind = iota // {"error","error_description"}
	portalKind             // {"message"}
	loginKind              // {"error","message"}
	pageKind               // HTML
	assetKind              // HTML; neither limited nor secret
)

// A route is a row of the table of requests. The path is a pattern of http.ServeMux.
type route struct {
	method, path string
	kind         kind
	serve        func(*Handler, *visit) error
}

const (
	startPath        = "/start"
	devicePath       = "/device"
	tokenPath        = "/token"
	authorizePath    = "/authorize"
	loginPath        = "/v1/authorize"
	loginTokenPath   = "/v1/token"
	confirmationPath = "/v1/sessions/confirmation"

	// pagePrefix is of paths that no protocol has.
	pagePrefix  = "/signin/"
	signInPath  = pagePrefix + "in"
	signOutPath = pagePrefix + "out"
	invitePath  = pagePrefix + "invite"
	keysPath    = pagePrefix + "keys"

	configurationPath = pagePrefix + "configuration"

	oidcPrefix  = pagePrefix + "oidc/"
	assetPrefix = pagePrefix + "assets/"
)

var table = []route{
	{"POST", "/client/register", oidcKind, (*Handler).registerClient},
	{"POST", "/device_authorization", oidcKind, (*Handler).startDevice},
	{"POST", tokenPath, oidcKind, (*Handler).createToken},

	{"GET", "/assignment/accounts", portalKind, (*Handler).listAccounts},
	{"GET", "/assignment/roles", portalKind, (*Handler).listRoles},
	{"GET", "/federation/credentials", portalKind, (*Handler).roleCredentials},
	{"POST", "/logout", portalKind, (*Handler).logout},

	{"POST", loginTokenPath, loginKind, (*Handler).loginToken},
	{"GET", loginPath, pageKind, (*Handler).loginPage},
	{"POST", loginPath, pageKind, (*Handler).loginConsent},
	{"GET", confirmationPath, pageKind, (*Handler).confirmation},

	{"HEAD", startPath, pageKind, (*Handler).startHead},
	{"GET", startPath, pageKind, (*Handler).startPage},
	{"GET", authorizePath, pageKind, (*Handler).authorizePage},
	{"POST", authorizePath, pageKind, (*Handler).authorizeConsent},
	{"GET", devicePath, pageKind, (*Handler).devicePage},
	{"POST", devicePath, pageKind, (*Handler).deviceConsent},

	{"GET", configurationPath, portalKind, (*Handler).configuration},
	{"GET", signInPath, pageKind, (*Handler).signInPage},
	{"POST", signInPath, pageKind, (*Handler).signIn},
	{"POST", signOutPath, pageKind, (*Handler).signOut},
	{"GET", invitePath, pageKind, (*Handler).invitePage},
	{"POST", invitePath, pageKind, (*Handler).acceptInvite},
	{"POST", keysPath, pageKind, (*Handler).keysPage},
	{"GET", oidcPrefix + "{provider}", pageKind, (*Handler).externalStart},
	{"GET", oidcPrefix + "{provider}/callback", pageKind, (*Handler).externalCallback},
	{"GET", assetPrefix + "{file}", assetKind, (*Handler).asset},
}

// methods are those of each path outside pagePrefix.
var methods = func() map[string][]string {
	m := map[string][]string{}
	for _, t := range table {
		if !strings.HasPrefix(t.path, pagePrefix) {
			m[t.path] = append(m[t.path], t.method)
		}
	}
	return m
}()

// Matches reports whether a request is for this package.
func Matches(r *http.Request) bool {
	if strings.HasPrefix(r.URL.Path, pagePrefix) {
		return true
	}
	for _, m := range methods[r.URL.Path] {
		if m == r.Method || m == http.MethodGet && r.Method == http.MethodHead {
			return true
		}
	}
	return false
}

func (h *Handler) unknownPage(v *visit) error {
	return pageError(http.StatusNotFound, "There is no such page.")
}
