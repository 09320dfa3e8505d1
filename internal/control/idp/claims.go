package idp

import (
	"slices"
	"time"
)

// Claims describe whom a verified token identifies.
type Claims struct {
	Issuer, Subject   string
	Audience          string   // the one that was accepted
	Audiences         []string // all of the token
	Email             string
	EmailVerified     bool
	Name              string
	PreferredUsername string
	Groups            []string // of the provider's GroupClaim
	Expires           time.Time
	JTI               string // the token's id, or ""
	AuthorizedParty   string // azp, or ""
	All               map[string]any
}

// claimsOf reads the standard claims. A claim of the wrong type is read as absent.
func claimsOf(all map[string]any, groups string) *Claims {
	c := &Claims{
		Issuer: text(all, "iss"), Subject: text(all, "sub"), Audiences: texts(all, "aud"),
		Email: text(all, "email"), EmailVerified: all["email_verified"] == true || all["email_verified"] == "true",
		Name: text(all, "name"), PreferredUsername: text(all, "preferred_username"),
		JTI: text(all, "jti"), AuthorizedParty: text(all, "azp"), All: all,
	}
	if groups != "" {
		c.Groups = texts(all, groups)
	}
	return c
}

func text(all map[string]any, name string) string {
	s, _ := all[name].(string)
	return s
}

// texts returns a claim that is one string or a list of them.
func texts(all map[string]any, name string) []string {
	switch value := all[name].(type) {
	case string:
		return []string{value}
	case []any:
		var list []string
		for _, v := range value {
			if s, ok := v.(string); ok {
				list = append(list, s)
			}
		}
		return list
	}
	return nil
}

// leeway is the accepted difference between the clocks of an issuer and of this node.
const leeway = 60 * time.Second

// maxTime bounds the times of tokens, in seconds of the Unix epoch: the end of the year 9999.
const maxTime = 253402300799

// check checks issuer, subject, audience and times, and sets Audience and Expires.
func (c *Claims) check(p *Provider, now time.Time) error {
	switch {
	case c.Issuer != p.Issuer:
		return rejected("its issuer is %q, but the provider's is %q", c.Issuer, p.Issuer)
	case c.Subject == "":
		return rejected("it has no subject (claim sub)")
	}
	accepted := slices.IndexFunc(c.Audiences, func(a string) bool { return slices.Contains(p.Audiences, a) })
	if accepted < 0 {
		return rejected("its audience %q is none of the provider's audiences", c.Audiences)
	}
	c.Audience = c.Audiences[accepted]
	return c.checkTimes(now)
}

func (c *Claims) checkTimes(now time.Time) error {
	expires, ok := c.All["exp"].(float64)
	if !ok {
		return rejected("it has no end (claim exp)")
	}
	c.Expires = time.Unix(int64(min(max(expires, 0), maxTime)), 0).UTC()
	if !now.Before(c.Expires.Add(leeway)) {
		return ErrExpired
	}
	latest := float64(now.Add(leeway).Unix())
	for _, name := range [...]string{"nbf", "iat"} {
		switch from, isTime := c.All[name].(float64); {
		case c.All[name] == nil:
		case !isTime:
			return rejected("its claim %s is not a number", name)
		case from > latest:
			return rejected("it is not valid yet: its claim %s is in the future", name)
		}
	}
	return nil
}
