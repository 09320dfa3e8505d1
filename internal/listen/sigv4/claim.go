package sigv4

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A claim is the signature of a request, before it is verified.
type claim struct {
	accessKeyID   string
	scope         scope
	signedHeaders string // lower-case names, sorted, joined by ';'
	signature     string // as sent; hex if valid
	date          string // as signed, always stampLayout
	time          time.Time
	token         string // X-Amz-Security-Token, or ""
	presigned     bool
	expires       time.Duration // presigned: validity of the request
	unsigned      bool          // presigned: the body is not part of the signature
}

// A scope is what a signing key is for. The region may be empty, for clients with a configured endpoint and no region.
type scope struct{ date, region, service, terminator string }

const (
	terminator  = "aws4_request"
	dateLayout  = "20060102"
	stampLayout = "20060102T150405Z"
)

func stamp(t time.Time) string { return t.UTC().Format(stampLayout) }

func claimOf(r *listen.Request) (claim, error) {
	authorization, times := r.Header.Lookup("Authorization")
	query := r.Query()
	presigned := strings.Contains(query, "X-Amz-Algorithm=")
	switch {
	case presigned && times > 0:
		return claim{}, incomplete("A request is signed in its Authorization header or in its query, not in both.")
	case presigned:
		return queryClaim(query)
	case authorization == "" && times <= 1:
		return claim{}, fault.New(fault.MissingAuthenticationToken,
			"Request is missing Authentication Token: sign it with an access key.")
	case times > 1:
		return claim{}, incomplete("The request has more than one Authorization header.")
	}
	c, err := parseAuthorization(authorization)
	if err != nil {
		return claim{}, err
	}
	if c.token, err = single(r.Header.Lookup, "X-Amz-Security-Token"); err != nil {
		return claim{}, err
	}
	return c, c.takeDate(r.Header)
}

// takeDate reads the time of signing from X-Amz-Date or else Date.
func (c *claim) takeDate(h listen.Header) error {
	date, err := single(h.Lookup, "X-Amz-Date")
	if err != nil {
		return err
	}
	if date != "" {
		return c.setDate(date)
	}
	if date, err = single(h.Lookup, "Date"); err != nil {
		return err
	}
	if date == "" {
		return incomplete("The request has neither an X-Amz-Date nor a Date header.")
	}
	t, err := http.ParseTime(date)
	if err != nil {
		return c.setDate(date)
	}
	c.time, c.date = t, stamp(t)
	return nil
}

func (c *claim) setDate(date string) error {
	t, err := time.Parse(stampLayout, date)
	if err != nil || len(date) != len(stampLayout) {
		return incomplete("The date of the signature must have the form '%s'.", stampLayout)
	}
	c.date, c.time = date, t
	return nil
}

// parseAuthorization reads an Authorization header: the algorithm, then Credential, SignedHeaders and Signature in any
// order, each once.
func parseAuthorization(header string) (claim, error) {
	rest, ok := strings.CutPrefix(header, Algorithm+" ")
	if !ok {
		return claim{}, incomplete("The Authorization header must start with '%s'.", Algorithm)
	}
	var c claim
	var credential string
	for more := true; more; {
		var part string
		part, rest, more = strings.Cut(rest, ",")
		name, value, _ := strings.Cut(strings.Trim(part, " "), "=")
		var field *string
		switch name {
		case "Credential":
			field = &credential
		case "SignedHeaders":
			field = &c.signedHeaders
		case "Signature":
			field = &c.signature
		default:
			return claim{}, incomplete(
				"The Authorization header has a part that is none of Credential, SignedHeaders and Signature.")
		}
		if *field != "" || value == "" {
			return claim{}, incomplete("The Authorization header requires '%s' exactly once, with a value.", name)
		}
		*field = value
	}
	if err := c.setCredential(credential); err != nil {
		return claim{}, err
	}
	return c, c.complete()
}

func queryClaim(raw string) (claim, error) {
	q, err := url.ParseQuery(raw)
	if err != nil {
		return claim{}, incomplete("The query of the request cannot be read.")
	}
	lookup := func(name string) (string, int) { return q.Get(name), len(q[name]) }
	c := claim{presigned: true}
	var algorithm, credential, date, expires, payload string
	for _, p := range []struct {
		name string
		to   *string
	}{
		{"X-Amz-Algorithm", &algorithm}, {"X-Amz-Credential", &credential}, {"X-Amz-Date", &date},
		{"X-Amz-Expires", &expires}, {"X-Amz-SignedHeaders", &c.signedHeaders}, {"X-Amz-Signature", &c.signature},
		{"X-Amz-Security-Token", &c.token}, {"X-Amz-Content-Sha256", &payload},
	} {
		if *p.to, err = single(lookup, p.name); err != nil {
			return claim{}, err
		}
	}
	if algorithm != Algorithm {
		return claim{}, incomplete("X-Amz-Algorithm must be '%s'.", Algorithm)
	}
	if err := c.setDate(date); err != nil {
		return claim{}, err
	}
	seconds, err := strconv.ParseUint(expires, 10, 32)
	if c.expires = time.Duration(seconds) * time.Second; err != nil || c.expires < time.Second ||
		c.expires > MaxExpires {
		return claim{}, incomplete("X-Amz-Expires must be a number of seconds from 1 to %d.", MaxExpires/time.Second)
	}
	c.unsigned = payload == unsignedPayload
	if err := c.setCredential(credential); err != nil {
		return claim{}, err
	}
	return c, c.complete()
}

// setCredential splits accessKeyID/date/region/service/terminator.
func (c *claim) setCredential(s string) error {
	parts := [5]*string{&c.accessKeyID, &c.scope.date, &c.scope.region, &c.scope.service, &c.scope.terminator}
	for i, p := range parts {
		var found bool
		*p, s, found = strings.Cut(s, "/")
		if found != (i < len(parts)-1) {
			return incomplete("Credential must have five parts separated by '/': "+
				"access key, date, region, service and '%s'.", terminator)
		}
	}
	if c.accessKeyID == "" || len(c.scope.date) != len(dateLayout) {
		return incomplete("Credential must start with an access key and a date of the form '%s'.", dateLayout)
	}
	return nil
}

// complete checks that there is a signature and a valid list of headers.
func (c *claim) complete() error {
	if c.signature == "" {
		return incomplete("The request carries no signature.")
	}
	last := ""
	for name := range strings.SplitSeq(c.signedHeaders, ";") {
		if name <= last || strings.ToLower(name) != name {
			return incomplete("SignedHeaders must be lower-case names in alphabetical order, separated by ';'.")
		}
		last = name
	}
	return nil
}

// covers rejects a signature that omits a header with an effect on the request.
func (c *claim) covers(h listen.Header) error {
	if !c.signs("host") {
		return incomplete("The host header must be signed.")
	}
	if !c.presigned && !c.signs("x-amz-date") && (has(h, "X-Amz-Date") || !c.signs("date")) {
		return incomplete("The x-amz-date header must be signed.")
	}
	if has(h, "X-Amz-Target") && !c.signs("x-amz-target") {
		return incomplete("The x-amz-target header must be signed.")
	}
	if !c.presigned && has(h, "X-Amz-Security-Token") && !c.signs("x-amz-security-token") {
		return incomplete("The x-amz-security-token header must be signed.")
	}
	return nil
}

// signs reports whether a header, in lower case, is signed.
func (c *claim) signs(name string) bool {
	rest, part, more := c.signedHeaders, "", true
	for more {
		if part, rest, more = strings.Cut(rest, ";"); part == name {
			return true
		}
	}
	return false
}

// single returns the only value of a parameter, "" if there is none. lookup returns the first value and their number.
func single(lookup func(name string) (string, int), name string) (string, error) {
	value, times := lookup(name)
	if times > 1 {
		return "", incomplete("%s must be given once.", name)
	}
	return value, nil
}

func has(h listen.Header, name string) bool {
	_, times := h.Lookup(name)
	return times > 0
}

func incomplete(format string, args ...any) error {
	return fault.New(fault.IncompleteSignature, format, args...)
}
