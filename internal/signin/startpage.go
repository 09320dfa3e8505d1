package signin

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/muster-gg/muster/internal/control/access"
)

// startPage lists the roles of a person, with the settings for AWS's command line.
func (h *Handler) startPage(v *visit) error {
	p, ok := h.person(v)
	if !ok {
		return h.toSignIn(v)
	}
	body := startBody{Account: h.accountLabel()}
	for i, r := range h.Access.RolesOf(p.User.Name) {
		body.Roles = append(body.Roles, roleBody{i + 1, r.Name, r.Description, h.settings(r.Name)})
	}
	h.show(v, http.StatusOK, "start", page{Title: "Your roles", Person: p.User.Name, Body: body})
	return nil
}

// startURL returns the start URL for clients. AWS's command line refuses unencrypted ones from 2.35.13 on.
func (h *Handler) startURL() string {
	if h.base.Scheme != "https" {
		return h.identityCenterURL()
	}
	return h.PublicURL + startPath
}

// settings returns the sections of ~/.aws/config for a role. All clients obey the services section, and only that one:
// Go's ignores other settings of endpoints in its chain of credentials.
func (h *Handler) settings(role string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `[sso-session muster]
sso_start_url = %s
sso_region = %s
sso_registration_scopes = %s

[profile %s]
sso_session = muster
sso_account_id = %s
sso_role_name = %s
region = %s
services = muster

[services muster]
`, h.startURL(), h.Region, accessScope, role, h.Account, role, h.Region)
	for _, service := range []string{"gamelift", "sts", "sso", "sso_oidc", "iam", "signin", "cloudwatch"} {
		fmt.Fprintf(&b, "%s =\n  endpoint_url = %s\n", service, h.PublicURL)
	}
	return b.String()
}

// keysPage issues temporary keys of a role, for programs that cannot sign in.
func (h *Handler) keysPage(v *visit) error {
	if err := parseForm(v); err != nil {
		return err
	}
	p, ok := h.person(v)
	if !ok {
		return pageError(http.StatusForbidden, "You have signed out meanwhile. Sign in again.")
	}
	role := v.r.PostForm.Get("role")
	keys, err := h.Access.RoleKeys(v.r.Context(), p, role, 0, v.from)
	if errors.Is(err, access.ErrNotAssigned) {
		return pageError(http.StatusForbidden, "The role %.100q is not assigned to you.", role)
	}
	if err != nil {
		return err
	}
	h.show(v, http.StatusOK, "keys", page{Title: "Temporary keys of " + role, Person: p.User.Name,
		Body: keysBody{Role: role, Expires: keys.Expires, Forms: h.keyForms(keys)}})
	return nil
}

// keyForms returns the keys as different programs read them. AWS_ENDPOINT_URL is not among the variables: with it, Go's
// client ignores the endpoints of single services.
func (h *Handler) keyForms(k *access.Temporary) []keyForm {
	variables := [][2]string{{"AWS_ACCESS_KEY_ID", k.AccessKeyID}, {"AWS_SECRET_ACCESS_KEY", k.SecretAccessKey},
		{"AWS_SESSION_TOKEN", k.SessionToken}, {"AWS_REGION", h.Region}, {"AWS_ENDPOINT_URL_GAMELIFT", h.PublicURL},
		{"AWS_ENDPOINT_URL_STS", h.PublicURL}, {"AWS_ENDPOINT_URL_CLOUDWATCH", h.PublicURL}}
	var shell, power strings.Builder
	for _, s := range variables {
		fmt.Fprintf(&shell, "export %s='%s'\n", s[0], s[1])
		fmt.Fprintf(&power, "$Env:%s='%s'\n", s[0], s[1])
	}
	return []keyForm{
		{"shell", "macOS and Linux shells", shell.String()},
		{"powershell", "PowerShell", power.String()},
		{"file", "~/.aws/credentials", fmt.Sprintf(
			"[muster]\naws_access_key_id = %s\naws_secret_access_key = %s\naws_session_token = %s\n",
			k.AccessKeyID, k.SecretAccessKey, k.SessionToken)},
	}
}
