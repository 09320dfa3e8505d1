package operator

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/control/audit"
)

// noted is what a call adds to its record in the audit trail.
type noted struct {
	event   string            // instead of the route's action; "": the action
	service string            // that acts, if no identity does; "": none
	details map[string]string // never the values of fields, which can be secrets
}

// note adds a detail. An empty value adds nothing.
func (n *noted) note(name, value string) {
	if value == "" {
		return
	}
	if n.details == nil {
		n.details = map[string]string{}
	}
	n.details[name] = value
}

// record adds the call to the audit trail.
func (d *Handler) record(r *route, c *call, resources []string, err error) {
	for _, w := range wildcard.FindAllStringSubmatch(r.pattern, -1) {
		c.note(w[1], c.PathValue(w[1]))
	}
	record := d.Access.Recorded(c.id, c.from, actionName(cmp.Or(c.event, r.action)), resources, err)
	record.Details = c.details
	if c.service != "" {
		record.Identity = audit.Identity{Type: "Service", User: c.service, Account: d.Account}
	}
	d.Access.Trail().Record(record)
}

// fieldsOf returns the names of the fields in a body, which was decoded without an error.
func fieldsOf(body []byte) string {
	var members map[string]json.RawMessage
	if len(body) == 0 || json.Unmarshal(body, &members) != nil {
		return ""
	}
	return strings.Join(slices.Sorted(maps.Keys(members)), ",")
}
