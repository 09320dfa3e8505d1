package console

import (
	"net/http"
	"net/url"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire"
)

// An instancesBody is a page of the instances of the region.
type instancesBody struct {
	control.InstanceList
	Status                   wire.InstanceStatus // that is shown; "": any
	Fleet, Location, Machine string              // that are shown; "": any
}

func instancesPage(v *visit) error {
	q := v.r.URL.Query()
	b := instancesBody{Status: wire.InstanceStatus(q.Get("status")), Fleet: q.Get("fleet"),
		Location: q.Get("location"), Machine: q.Get("machine")}
	path := v.rowsOf("instances")
	if filters := b.filters().Encode(); filters != "" {
		path += "&" + filters
	}
	if err := v.request(http.MethodGet, path, nil, &b.InstanceList); err != nil {
		return err
	}
	return v.show("instances", page{Title: "Instances", Nav: "/console/instances", Live: true, Body: &b})
}

// filters are what selects the instances.
func (b *instancesBody) filters() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"status": string(b.Status), "fleet": b.Fleet, "location": b.Location,
		"machine": b.Machine} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// Filtered reports whether only some of the instances are selected.
func (b *instancesBody) Filtered() bool { return len(b.filters()) > 0 }

// Statuses are the choices of the form.
func (*instancesBody) Statuses() []wire.InstanceStatus {
	return []wire.InstanceStatus{wire.InstanceStatusPending, wire.InstanceStatusActive, wire.InstanceStatusTerminating}
}

// Next is the address of the next page; "": there is none.
func (b *instancesBody) Next() string {
	if b.NextToken == "" {
		return ""
	}
	q := b.filters()
	q.Set("next", b.NextToken)
	return "/console/instances?" + q.Encode()
}
