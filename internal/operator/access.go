package operator

import (
	"encoding/json"
	"time"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Who is the answer of /v1/whoami.
type Who struct {
	Arn         string     `json:"arn"`
	UserID      string     `json:"userId"`
	Account     string     `json:"account"`
	KeyID       string     `json:"accessKeyId"`
	Root        bool       `json:"root,omitempty"`
	User        string     `json:"user,omitempty"`
	Role        string     `json:"role,omitempty"`
	SessionName string     `json:"sessionName,omitempty"`
	Expires     *time.Time `json:"expires,omitempty"`
}

// whoAmI is not denied by any policy, as GetCallerIdentity of STS is not.
func (d *Handler) whoAmI(c *call) (*Who, error) {
	i := c.id
	if i == nil {
		return nil, errUnsigned
	}
	w := &Who{Arn: i.Arn, UserID: i.UserID, Account: i.Account, KeyID: i.KeyID, Root: i.Root, User: i.User,
		Role: i.Role, SessionName: i.SessionName}
	if !i.Expires.IsZero() {
		w.Expires = &i.Expires
	}
	return w, nil
}

func (d *Handler) settings(*call) (access.SettingsView, error) { return d.Access.Settings(), nil }

// A SettingsPatch is the body of PATCH /v1/settings/sign-in.
type SettingsPatch struct {
	LocalPasswords *bool `json:"localPasswords"`
}

func (d *Handler) changeSettings(c *call, p *SettingsPatch) (*access.SettingsView, error) {
	if p.LocalPasswords == nil {
		return nil, fault.New(fault.InvalidRequest, "localPasswords is missing: it must be true or false.")
	}
	if err := d.Access.SetLocalPasswords(c.Context(), *p.LocalPasswords); err != nil {
		return nil, err
	}
	settings := d.Access.Settings()
	return &settings, nil
}

func (d *Handler) rotateSecret(c *call) (*access.SettingsView, error) {
	return d.Access.RotateSecret(c.Context())
}

func (d *Handler) rotateRootKey(c *call) (*access.KeyCreated, error) {
	return c.keyMade(d.Access.RotateRootKey(c.Context(), c.id))
}

// RecoveryHeader has the proof that a caller can read the region's secret: see credentials.Secrets.Proof.
const RecoveryHeader = "Muster-Recovery"

// recoverRootKey replaces a lost root key, for whoever can read the region's secret on the machine of the service.
func (d *Handler) recoverRootKey(c *call) (*access.KeyCreated, error) {
	if !listen.FromThisMachine(c.Request) {
		return nil, fault.New(fault.AccessDenied, "The root key is recovered on the machine of the service: "+
			"use an endpoint on 127.0.0.1 or ::1.")
	}
	if err := d.Access.CheckRecovery(c.Header.Get(RecoveryHeader)); err != nil {
		return nil, err
	}
	c.service = "root key recovery"
	return c.keyMade(d.Access.RotateRootKey(c.Context(), nil))
}

// Deleted is the answer to a deletion.
type Deleted struct {
	Deleted string `json:"deleted"`
}

// deletedUnless returns the answer to a deletion, or its error.
func deletedUnless(err error, name string) (Deleted, error) { return Deleted{name}, err }

// documentText returns a policy document as text. It may be an object, or a string with one.
func documentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
