package signin

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/access"
)

// bearerHeader carries the access token of requests to the portal.
const bearerHeader = "X-Amz-Sso_bearer_token"

// maxResults is the largest page of the portal's lists. Source: service model sso, MaxResultType.
const maxResults = 100

func (h *Handler) bearer(v *visit) (*access.Person, error) {
	token := v.r.Header.Get(bearerHeader)
	if token == "" {
		return nil, unauthorized.because("The header x-amz-sso_bearer_token is missing.")
	}
	return h.Access.Bearer(token)
}

func (h *Handler) roleCredentials(v *visit) error {
	p, err := h.bearer(v)
	if err != nil {
		return err
	}
	q := v.r.URL.Query()
	role, account := q.Get("role_name"), q.Get("account_id")
	if role == "" || account == "" {
		return portalInvalid.because("role_name or account_id is missing.")
	}
	if account != h.Account {
		return access.ErrNotAssigned
	}
	keys, err := h.Access.RoleKeys(v.r.Context(), p, role, 0, v.from)
	if err != nil {
		return err
	}
	type credentials struct {
		ID         string `json:"accessKeyId"`
		Secret     string `json:"secretAccessKey"`
		Token      string `json:"sessionToken"`
		Expiration int64  `json:"expiration"` // milliseconds
	}
	h.write(v, http.StatusOK, map[string]credentials{"roleCredentials": {
		keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken, keys.Expires.UnixMilli(),
	}})
	return nil
}

func (h *Handler) listAccounts(v *visit) error {
	type account struct {
		ID    string `json:"accountId"`
		Name  string `json:"accountName"`
		Email string `json:"emailAddress"`
	}
	p, err := h.bearer(v)
	if err != nil {
		return err
	}
	if _, _, err := pageOf(v); err != nil {
		return err
	}
	list := []account{}
	if len(h.Access.RolesOf(p.User.Name)) > 0 {
		list = append(list, account{h.Account, h.AccountName, p.User.Email})
	}
	h.write(v, http.StatusOK, map[string]any{"accountList": list, "nextToken": nil})
	return nil
}

func (h *Handler) listRoles(v *visit) error {
	type role struct {
		Name    string `json:"roleName"`
		Account string `json:"accountId"`
	}
	p, err := h.bearer(v)
	if err != nil {
		return err
	}
	switch v.r.URL.Query().Get("account_id") {
	case h.Account:
	case "":
		return portalInvalid.because("account_id is missing.")
	default:
		return access.ErrNotAssigned
	}
	after, limit, err := pageOf(v)
	if err != nil {
		return err
	}
	roles := h.Access.RolesOf(p.User.Name)
	first, found := slices.BinarySearchFunc(roles, after, func(r *catalog.Role, name string) int {
		return cmp.Compare(r.Name, name)
	})
	if found {
		first++
	}
	roles = roles[first:]
	var next *string // the name of the last role of the page
	if len(roles) > limit {
		roles = roles[:limit]
		next = &roles[limit-1].Name
	}
	list := []role{}
	for _, r := range roles {
		list = append(list, role{r.Name, h.Account})
	}
	h.write(v, http.StatusOK, map[string]any{"roleList": list, "nextToken": next})
	return nil
}

// pageOf returns where a page of a list begins, and its size.
func pageOf(v *visit) (after string, limit int, err error) {
	q := v.r.URL.Query()
	if s := q.Get("max_result"); s != "" {
		if limit, err = strconv.Atoi(s); err != nil || limit < 1 || limit > maxResults {
			return "", 0, portalInvalid.because("max_result is %.20q; it must be between 1 and %d.", s, maxResults)
		}
	}
	return q.Get("next_token"), cmp.Or(limit, maxResults), nil
}

func (h *Handler) logout(v *visit) error {
	p, err := h.bearer(v)
	if err != nil {
		return err
	}
	if err := h.Access.EndSignIn(v.r.Context(), p.SignIn.ID, "signed out", v.from); err != nil {
		return err
	}
	v.w.WriteHeader(http.StatusOK)
	return nil
}
