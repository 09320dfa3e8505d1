package signin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// An exception is an error of a service model. Clients read its name from a header: the body alone is not enough for
// AWS's command line.
type exception struct {
	name   string
	status int
	code   string // in the body; "" in the portal's
}

// The exceptions of SSO-OIDC. Source: service model sso-oidc.
var (
	authorizationPending = exception{"AuthorizationPendingException", 400, "authorization_pending"}
	slowDown             = exception{"SlowDownException", 400, "slow_down"}
	expiredToken         = exception{"ExpiredTokenException", 400, "expired_token"}
	accessDenied         = exception{"AccessDeniedException", 400, "access_denied"}
	invalidGrant         = exception{"InvalidGrantException", 400, "invalid_grant"}
	invalidClient        = exception{"InvalidClientException", 401, "invalid_client"}
	invalidRequest       = exception{"InvalidRequestException", 400, "invalid_request"}
	invalidScope         = exception{"InvalidScopeException", 400, "invalid_scope"}
	unsupportedGrantType = exception{"UnsupportedGrantTypeException", 400, "unsupported_grant_type"}
	unauthorizedClient   = exception{"UnauthorizedClientException", 400, "unauthorized_client"}
	invalidMetadata      = exception{"InvalidClientMetadataException", 400, "invalid_client_metadata"}
	invalidRedirectURI   = exception{"InvalidRedirectUriException", 400, "invalid_redirect_uri"}
	serverError          = exception{"InternalServerException", 500, "server_error"}
)

// The exceptions of the SSO portal. ForbiddenException is not in the model; AWS sends it too.
var (
	unauthorized    = exception{"UnauthorizedException", 401, ""}
	forbidden       = exception{"ForbiddenException", 403, ""}
	portalInvalid   = exception{"InvalidRequestException", 400, ""}
	tooManyRequests = exception{"TooManyRequestsException", 429, ""}
)

// The exceptions of Sign-in. Source: service model signin.
var (
	loginExpired      = exception{"AccessDeniedException", 400, "TOKEN_EXPIRED"}
	loginCodeExpired  = exception{"AccessDeniedException", 400, "AUTHCODE_EXPIRED"}
	loginChanged      = exception{"AccessDeniedException", 400, "USER_CREDENTIALS_CHANGED"}
	loginInsufficient = exception{"AccessDeniedException", 400, "INSUFFICIENT_PERMISSIONS"}
	loginDenied       = exception{"AccessDeniedException", 400, "INVALID_REQUEST"}
	loginInvalid      = exception{"ValidationException", 400, "INVALID_REQUEST"}
	loginTooMany      = exception{"TooManyRequestsError", 429, "INVALID_REQUEST"}
)

// A failure is the answer to a rejected request.
type failure struct {
	exception
	message string // a sentence for people
}

func (f *failure) Error() string { return f.name + ": " + f.message }

// because returns the exception with a message.
func (e exception) because(format string, args ...any) error {
	return &failure{e, fmt.Sprintf(format, args...)}
}

// A refusal rejects a request of any kind.
type refusal struct {
	why   reason
	after time.Duration // until the client may try again; 0: not known
}

func (r *refusal) Error() string { return reasons[r.why].message }

type reason int

const (
	internal reason = iota
	starting
	tooMany
	unencrypted
	tooLarge
	disabled
	ended
	notAssigned
)

// reasons has for each reason the exception of each kind, in the order of the kinds, and the sentence.
var reasons = map[reason]struct {
	of      [pageKind]exception
	status  int // of pages
	message string
}{
	internal: {[...]exception{serverError, serverError.as(""), serverError}, 500,
		"The service could not complete the request. Try again."},
	starting: {[...]exception{serverError, serverError.as(""), serverError}, 503,
		"The service is starting or recovering. Try again."},
	tooMany: {[...]exception{slowDown, tooManyRequests, loginTooMany}, 429,
		"Too many requests, or failed attempts. Try again later."},
	unencrypted: {[...]exception{accessDenied.with(403), forbidden, loginDenied.with(403)}, 403,
		"Sign-in is refused on an unencrypted connection from another machine. Use https, " +
			"or set insecure-sign-in on the service."},
	tooLarge: {[...]exception{invalidRequest, portalInvalid, loginInvalid}, 413,
		"The body of the request is larger than 16 kB."},
	disabled: {[...]exception{accessDenied, unauthorized, loginChanged}, 403,
		"The user is disabled. Ask an administrator."},
	ended: {[...]exception{invalidGrant, unauthorized, loginExpired}, 403,
		"The session has ended, or the token is not valid. Sign in again."},
	notAssigned: {[...]exception{accessDenied, forbidden, loginInsufficient}, 403, "No access"},
}

func (e exception) as(code string) exception { e.code = code; return e }

func (e exception) with(status int) exception { e.status = status; return e }

// refusalOf classifies the errors of other packages. Others are internal, and nil.
func refusalOf(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	if wait, ok := errors.AsType[*access.WaitError](err); ok {
		return &refusal{why: tooMany, after: wait.After}
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &refusal{why: tooLarge}
	}
	for cause, why := range map[error]reason{
		access.ErrDisabled: disabled, access.ErrInvalidGrant: ended, access.ErrInvalidToken: ended,
		access.ErrNotAssigned: notAssigned, journal.ErrFull: tooMany,
	} {
		if errors.Is(err, cause) {
			return &refusal{why: why}
		}
	}
	switch f := fault.Of(err); f.Kind {
	case fault.Throttling, fault.LimitExceeded:
		return &refusal{why: tooMany}
	case fault.ServiceUnavailable:
		return &refusal{why: starting}
	case fault.AccessDenied:
		return &refusal{why: disabled}
	}
	return nil
}

// fail answers an error in the form of the request's kind.
func (h *Handler) fail(v *visit, err error) {
	if p, ok := errors.AsType[*pageFailure](err); ok {
		h.showError(v, p)
		return
	}
	f, ok := errors.AsType[*failure](err)
	if !ok {
		r := refusalOf(err)
		if r == nil {
			r = &refusal{why: internal}
			if suppressed, ok := h.lines.Allow("failed"); ok {
				h.Log.Warn("sign-in request failed", "path", v.r.URL.Path, "request_id", v.from.RequestID, "err", err,
					"suppressed", suppressed)
			}
		}
		if r.after > 0 {
			v.w.Header().Set("Retry-After", strconv.Itoa(int((r.after+time.Second-1)/time.Second)))
		}
		row := reasons[r.why]
		if v.kind >= pageKind {
			h.showError(v, &pageFailure{row.status, row.message})
			return
		}
		f = &failure{row.of[v.kind], row.message}
	}
	v.w.Header().Set("X-Amzn-Errortype", f.name)
	body := map[string]string{}
	switch v.kind {
	case oidcKind:
		body["error"], body["error_description"] = f.code, f.message
	case loginKind:
		body["error"] = f.code
		fallthrough
	default:
		body["message"] = f.message
	}
	h.write(v, f.status, body)
}

// write answers JSON.
func (h *Handler) write(v *visit, status int, body any) {
	v.w.Header().Set("Content-Type", "application/json")
	v.w.WriteHeader(status)
	if err := json.NewEncoder(v.w).Encode(body); err != nil { // the client has gone
		h.Log.Debug("answer not written", "err", err)
	}
}

// read decodes the JSON body of a request. Unknown members are ignored, as AWS does.
func read(v *visit, into any, invalid exception) error {
	err := json.NewDecoder(v.r.Body).Decode(into)
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge
	}
	if err != nil {
		return invalid.because("The body of the request is not the JSON object that the operation needs.")
	}
	return nil
}
