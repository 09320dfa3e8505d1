package query

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/wire/fault"
)

type accessKey struct {
	UserName        string `xml:",omitempty"` // the root has none
	AccessKeyID     string `xml:"AccessKeyId"`
	Status          string
	SecretAccessKey string `xml:",omitempty"`
	CreateDate      string
}

func accessKeyOf(v *access.KeyView, secret string) accessKey {
	return accessKey{v.Owner, v.ID, v.Status, secret, iso(v.Created)}
}

type oneAccessKey struct {
	AccessKey accessKey
}

func createAccessKey(ctx context.Context, h *Handler, c *call) (any, error) {
	name := c.subject()
	if err := c.form.err(); err != nil {
		return nil, err
	}
	created, err := h.Access.CreateKey(ctx, c.id, access.KeyInput{User: name})
	if err != nil {
		return nil, err
	}
	c.details = map[string]string{"accessKeyId": created.ID}
	return oneAccessKey{accessKeyOf(&created.KeyView, created.Secret)}, nil
}

// keysOf returns the access keys of a user, or of the root, by id.
func (h *Handler) keysOf(ctx context.Context, user string) ([]access.KeyView, error) {
	var keys []access.KeyView
	if user == "" {
		keys = h.Access.RootKeys(ctx)
	} else {
		if _, err := h.Access.User(user); err != nil {
			return nil, err
		}
		keys = h.Access.Keys(ctx, user)
	}
	slices.SortFunc(keys, func(a, b access.KeyView) int { return strings.Compare(a.ID, b.ID) })
	return keys, nil
}

type accessKeyList struct {
	AccessKeyMetadata list[accessKey]
	page
}

func listAccessKeys(ctx context.Context, h *Handler, c *call) (any, error) {
	name := c.subject()
	after, most := c.form.paging()
	if err := c.form.err(); err != nil {
		return nil, err
	}
	keys, err := h.keysOf(ctx, name)
	if err != nil {
		return nil, err
	}
	some, end := pageOf(keys, func(k access.KeyView) string { return k.ID }, after, most)
	result := accessKeyList{page: end}
	for i := range some {
		result.AccessKeyMetadata.Members = append(result.AccessKeyMetadata.Members, accessKeyOf(&some[i], ""))
	}
	return result, nil
}

// owned returns an error unless the user of the call owns a key: the caller is allowed to change keys of that user.
func (h *Handler) owned(ctx context.Context, user, id string) error {
	keys, err := h.keysOf(ctx, user)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(keys, func(k access.KeyView) bool { return k.ID == id }) {
		return noKey(id)
	}
	return nil
}

func noKey(id string) error {
	return fault.New(fault.NotFound, "The Access Key with id %s cannot be found.", id)
}

func updateAccessKey(ctx context.Context, h *Handler, c *call) (any, error) {
	name, id := c.subject(), c.form.text("AccessKeyId", keyRule)
	status := c.form.one("Status", access.Active, access.Inactive)
	if err := c.form.err(); err != nil {
		return nil, err
	}
	c.details = map[string]string{"accessKeyId": id, "status": status}
	if err := h.owned(ctx, name, id); err != nil {
		return nil, err
	}
	_, err := h.Access.UpdateKey(ctx, c.id, id, access.KeyPatch{Status: &status})
	return nil, err
}

func deleteAccessKey(ctx context.Context, h *Handler, c *call) (any, error) {
	name, id := c.subject(), c.form.text("AccessKeyId", keyRule)
	if err := c.form.err(); err != nil {
		return nil, err
	}
	c.details = map[string]string{"accessKeyId": id}
	if err := h.owned(ctx, name, id); err != nil {
		return nil, err
	}
	return nil, h.Access.DeleteKey(ctx, id)
}

type lastUsed struct {
	UserName          string `xml:",omitempty"`
	AccessKeyLastUsed struct {
		LastUsedDate string `xml:",omitempty"`
		ServiceName  string
		Region       string
	}
}

// never is what IAM shows for a key that was never used.
const never = "N/A"

func getAccessKeyLastUsed(ctx context.Context, h *Handler, c *call) (any, error) {
	id := c.form.text("AccessKeyId", keyRule)
	if err := c.form.err(); err != nil {
		return nil, err
	}
	key, err := h.Access.Key(ctx, id)
	if err != nil {
		return nil, err
	}
	result := lastUsed{UserName: key.Owner}
	use := &result.AccessKeyLastUsed
	use.ServiceName, use.Region = never, never
	if key.LastUsed != nil {
		use.LastUsedDate = iso(*key.LastUsed)
		use.ServiceName, use.Region = cmp.Or(key.LastService, never), cmp.Or(key.LastRegion, never)
	}
	return result, nil
}
