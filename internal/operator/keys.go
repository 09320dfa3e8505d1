package operator

import "github.com/muster-gg/muster/internal/control/access"

// KeyList is the answer of GET /v1/keys.
type KeyList struct {
	Keys []access.KeyView `json:"keys"`
}

func (d *Handler) keys(c *call) (*KeyList, error) {
	values, err := c.parameters()
	if err != nil {
		return nil, err
	}
	return &KeyList{d.Access.Keys(c.Context(), values["user"])}, nil
}

// newKey names the owner of a key, so that a policy can allow people to create their own.
func newKey(c *call, in *access.KeyInput) (owners []string) {
	names := []string{in.User, in.Service}
	if in.User == "" && in.Service == "" && c.id != nil {
		names = []string{c.id.User}
	}
	for _, name := range names {
		if name != "" {
			owners = append(owners, "user/"+name)
		}
	}
	return owners
}

func (d *Handler) createKey(c *call, in *access.KeyInput) (*access.KeyCreated, error) {
	if string(in.Document) == "null" {
		in.Document = nil
	}
	return c.keyMade(d.Access.CreateKey(c.Context(), c.id, *in))
}

// keyMade notes a new key, never its secret, and returns what it was given.
func (c *call) keyMade(made *access.KeyCreated, err error) (*access.KeyCreated, error) {
	if err == nil {
		c.note("accessKeyId", made.ID)
		c.note("owner", made.Owner)
	}
	return made, err
}

func (d *Handler) changeKey(c *call, p *access.KeyPatch) (*access.KeyView, error) {
	return d.Access.UpdateKey(c.Context(), c.id, c.PathValue("id"), *p)
}

func (d *Handler) rotateKey(c *call) (*access.KeyCreated, error) {
	c.event = "KeyRotate"
	return c.keyMade(d.Access.RotateKey(c.Context(), c.id, c.PathValue("id")))
}

func (d *Handler) deleteKey(c *call) (Deleted, error) {
	id := c.PathValue("id")
	return deletedUnless(d.Access.DeleteKey(c.Context(), id), id)
}
