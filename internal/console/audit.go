package console

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/control/audit"
)

// An auditBody is records of the audit trail, newest first, with the filters that select them.
type auditBody struct {
	Since, User, Event, Resource, Address, Key string
	Errors                                     bool
	Periods                                    []lookChoice
	Records                                    []auditRow
	More                                       int  // older ones that are selected and not shown
	Cut                                        bool // not all of the time was read
}

// An auditRow is a record.
type auditRow struct {
	audit.Record
	Who  string
	JSON string
}

const (
	maxRecords  = 100     // that a page shows
	readRecords = 100_000 // that it reads. Source: package operator
)

// A period is a time until now.
type period struct {
	value, text string
	time.Duration
}

// periods are the times of which records can be shown.
var periods = []period{
	{"1h", "Last hour", time.Hour}, {"1d", "Last day", 24 * time.Hour}, {"7d", "Last 7 days", 7 * 24 * time.Hour},
	{"30d", "Last 30 days", 30 * 24 * time.Hour},
}

func auditPage(v *visit) error {
	b := auditBody{Since: v.form("since"), User: v.form("user"), Event: v.form("event"),
		Resource: v.form("resource"), Address: v.form("from"), Key: v.form("key"), Errors: v.form("errors") != ""}
	if !slices.ContainsFunc(periods, func(p period) bool { return p.value == b.Since }) {
		b.Since = periods[1].value
	}
	q := url.Values{"limit": {"100000"}}
	for _, p := range periods {
		b.Periods = append(b.Periods, lookChoice{p.value, p.text, p.value == b.Since})
		if p.value == b.Since {
			q.Set("since", v.h.Clock.Now().Add(-p.Duration).UTC().Format(time.RFC3339))
		}
	}
	for name, value := range map[string]string{"user": b.User, "event": b.Event, "resource": b.Resource,
		"address": b.Address, "key": b.Key} {
		if value = strings.TrimSpace(value); value != "" {
			q.Set(name, value)
		}
	}
	if b.Errors {
		q.Set("errors", "true")
	}
	lines := tail{most: maxRecords}
	err := v.requestTo(&lines, "GET", "/v1/audit?"+q.Encode(), nil)
	b.More, b.Cut = lines.count-len(lines.lines), lines.count >= readRecords
	for _, line := range slices.Backward(lines.lines) {
		row := auditRow{JSON: formatted(string(line))}
		if json.Unmarshal(line, &row.Record) == nil {
			row.Who = actor(&row.Record.Identity)
			b.Records = append(b.Records, row)
		}
	}
	return v.refused("audit", page{Title: "Audit trail", Nav: "/console/audit", Body: b}, err)
}

// actor returns who did something, as short as it is clear.
func actor(i *audit.Identity) string {
	switch {
	case i.SourceIdentity != "":
		return i.SourceIdentity
	case i.User != "":
		return i.User
	case i.Arn != "":
		return i.Arn[strings.LastIndexByte(i.Arn, ':')+1:]
	}
	return i.Type
}
