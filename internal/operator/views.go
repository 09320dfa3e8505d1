package operator

import (
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// ViewList is the answer of GET /v1/views.
type ViewList struct {
	Views []access.SavedView `json:"views"`
}

func (d *Handler) views(c *call) (*ViewList, error) {
	if c.id == nil {
		return nil, errUnsigned
	}
	views, err := d.Access.SavedViews(c.id)
	return &ViewList{views}, err
}

func (d *Handler) saveView(c *call, in *access.SavedView) (*access.SavedView, error) {
	c.event = "ViewPut"
	c.note("title", in.Title)
	return in, d.Access.SaveView(c.Context(), c.id, *in)
}

func (d *Handler) deleteView(c *call) (Deleted, error) {
	c.event = "ViewDelete"
	values, err := c.parameters()
	if err != nil {
		return Deleted{}, err
	}
	title := values["title"]
	if title == "" {
		return Deleted{}, fault.New(fault.InvalidRequest, "Parameter title is missing: it must be that of a view.")
	}
	c.note("title", title)
	return deletedUnless(d.Access.DeleteView(c.Context(), c.id, title), title)
}
