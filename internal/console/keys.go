package console

import (
	"net/url"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/control/access"
)

// accessKeys returns the access keys of a user; of all for "".
func (v *visit) accessKeys(user string) ([]access.KeyView, error) {
	path := "/v1/keys"
	if user != "" {
		path += "?user=" + url.QueryEscape(user)
	}
	var answer struct {
		Keys []access.KeyView `json:"keys"`
	}
	err := v.request("GET", path, nil, &answer)
	return answer.Keys, err
}

// A keysBody is all access keys, and one that was just made.
type keysBody struct {
	Keys     []access.KeyView
	Policies []access.PolicyView
	Created  *access.KeyCreated // its secret is shown once
	Profile  string             // lines of an AWS profile with it

	User, Name, Expires string // that were typed
	Service             bool
}

func keysPage(v *visit) error { return v.keys(keysBody{User: v.form("user")}, nil) }

func (v *visit) keys(b keysBody, refused error) error {
	var err error
	if b.Keys, err = v.accessKeys(""); err != nil {
		return err
	}
	if v.sees("muster:PolicyRead") {
		if b.Policies, err = v.policies(); err != nil {
			return err
		}
	}
	if c := b.Created; c != nil {
		b.Profile = "export AWS_ENDPOINT_URL_GAMELIFT=" + quote(v.h.Endpoint) + "\nexport AWS_REGION=" +
			quote(v.h.RegionName) + "\nexport AWS_ACCESS_KEY_ID=" + c.ID + "\nexport AWS_SECRET_ACCESS_KEY=" + c.Secret
	}
	return v.refused("keys", page{Title: "Access keys", Nav: "/console/keys", Body: &b,
		Live: refused == nil && b.Created == nil}, refused)
}

func createKey(v *visit) error {
	b := keysBody{User: strings.TrimSpace(v.form("user")), Name: v.form("key-name"), Expires: v.form("expires"),
		Service: v.form("service") != ""}
	body := map[string]any{"name": b.Name, "policies": v.r.Form["policy"]}
	owner := "user"
	if b.Service {
		owner = "service"
	}
	body[owner] = b.User
	if b.Expires != "" {
		day, err := time.Parse(time.DateOnly, b.Expires)
		if err != nil {
			return v.keys(b, invalid("expires: type a day like 2026-12-31."))
		}
		body["expires"] = day
	}
	return v.makeKey(in("keys"), body, b)
}

// makeKey makes a key and shows its secret.
func (v *visit) makeKey(path string, body any, b keysBody) error {
	var created access.KeyCreated
	if err := v.request("POST", path, body, &created); err != nil {
		return v.keys(b, err)
	}
	return v.keys(keysBody{Created: &created}, nil)
}

func changeKey(v *visit) error {
	id := v.r.PathValue("id")
	again := func(err error) error { return v.keys(keysBody{}, err) }
	const next = "/console/keys?done=key-changed"
	switch v.form("to") {
	case "activate":
		return v.perform("PATCH", in("keys", id), map[string]any{"status": access.Active}, next, again)
	case "deactivate":
		return v.perform("PATCH", in("keys", id), map[string]any{"status": access.Inactive}, next, again)
	case "rotate":
		return v.makeKey(in("keys", id, "rotate"), nil, keysBody{})
	case "delete":
		return v.perform("DELETE", in("keys", id), nil, "/console/keys?done=key-deleted", again)
	}
	return errNoPage
}
