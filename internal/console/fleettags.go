package console

import (
	"net/url"

	"github.com/muster-gg/muster/internal/wire"
)

// putFleetTag adds a tag to a fleet, or replaces its value.
func putFleetTag(v *visit) error {
	return v.changeTags("tag-stored", func(b *fleetBody) error {
		b.TagKey, b.TagValue = v.form("tag-key"), v.form("tag-value")
		_, err := call(v, wire.OpTagResource, &wire.TagResourceRequest{ResourceARN: b.FleetArn,
			Tags: []wire.Tag{{Key: b.TagKey, Value: b.TagValue}}})
		return err
	})
}

func removeFleetTag(v *visit) error {
	return v.changeTags("tag-removed", func(b *fleetBody) error {
		_, err := call(v, wire.OpUntagResource, &wire.UntagResourceRequest{ResourceARN: b.FleetArn,
			TagKeys: []string{v.form("tag-key")}})
		return err
	})
}

func (v *visit) changeTags(done string, change func(*fleetBody) error) error {
	b, err := v.fleet("tags")
	if err != nil {
		return err
	}
	if err := change(b); err != nil {
		return v.showFleet(b, err)
	}
	return v.redirect("/console/fleets/" + url.PathEscape(b.FleetId) + "?tab=tags&done=" + done)
}
