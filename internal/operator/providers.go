package operator

import "github.com/muster-gg/muster/internal/control/access"

// ProviderList is the answer of GET /v1/providers.
type ProviderList struct {
	Providers []access.ProviderView `json:"providers"`
}

func (d *Handler) providers(*call) (ProviderList, error) {
	return ProviderList{d.Access.Providers()}, nil
}

func (d *Handler) provider(c *call) (*access.ProviderView, error) {
	return d.Access.ProviderView(c.PathValue("name"))
}

func (d *Handler) putProvider(c *call, in *access.ProviderInput) (*access.ProviderView, error) {
	if err := named(c, &in.Name); err != nil {
		return nil, err
	}
	return d.Access.PutProvider(c.Context(), c.id, *in)
}

func (d *Handler) deleteProvider(c *call) (Deleted, error) {
	name := c.PathValue("name")
	return deletedUnless(d.Access.DeleteProvider(c.Context(), name), name)
}
