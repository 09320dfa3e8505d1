package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/control/audit"
)

// An auditQuery is a run of muster audit.
type auditQuery struct {
	since, until                        string
	limit                               int // 0: not given
	user, event, key, resource, address string
	errors, follow                      bool
}

func (a *app) auditCommand() *cobra.Command {
	var q auditQuery
	command := a.showCommand(help{
		use:   "audit",
		short: "Show who did what",
		long: `Show the audit trail, oldest first: sign-ins, issued keys, changes, and denied calls.
--since and --until take a duration before now (24h, 7d) or a time like
2026-01-31T12:00:00Z. Of a long period the newest records are shown. --json prints
the records one per line, in the format of CloudTrail, and all of them unless --limit is
given.`,
		example: `  muster audit --since 7d --user ada
  muster audit --errors --follow
  muster audit --since 720h --json > trail.ndjson`,
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		query, err := q.parameters(a.now())
		if err != nil {
			return &misuseError{err}
		}
		if q.follow {
			return o.followTrail(ctx, query)
		}
		if q.limit == 0 && !o.asJSON {
			q.limit = shownRecords
		}
		return o.showTrail(ctx, query, q.limit)
	})
	f := command.Flags()
	f.StringVar(&q.since, "since", "", "first time (default 24h; with --follow: now)")
	f.StringVar(&q.until, "until", "", "first later time")
	f.StringVar(&q.user, "user", "", "only this user, also behind a role")
	f.StringVar(&q.event, "event", "", "only this event, such as CreateFleet")
	f.StringVar(&q.key, "key", "", "only this access key")
	f.StringVar(&q.resource, "resource", "", "only resources with this text in their ARN")
	f.StringVar(&q.address, "address", "", "only this address, or network such as 192.0.2.0/24")
	f.BoolVar(&q.errors, "errors", false, "only failures")
	f.BoolVarP(&q.follow, "follow", "f", false, "wait for new records, until Ctrl-C")
	f.IntVar(&q.limit, "limit", 0, "maximum number of records (default 1000; with --follow or --json: no maximum)")
	return command
}

// parameters returns the query of the call.
func (q *auditQuery) parameters(now time.Time) (url.Values, error) {
	if q.limit < 0 {
		return nil, fmt.Errorf("--limit is %d: must be a number from 1", q.limit)
	}
	since := q.since
	if since == "" && !q.follow {
		since = "24h"
	}
	values := url.Values{}
	for name, text := range map[string]string{"since": since, "until": q.until} {
		if text == "" {
			continue
		}
		at, err := momentOf(text, now)
		if err != nil {
			return nil, fmt.Errorf("--%s is %q: must be a duration like 24h or 7d, or a time like 2026-01-31T12:00:00Z",
				name, text)
		}
		values.Set(name, at.UTC().Format(time.RFC3339))
	}
	for name, text := range map[string]string{"user": q.user, "event": q.event, "key": q.key, "resource": q.resource,
		"address": q.address} {
		if text != "" {
			values.Set(name, text)
		}
	}
	if q.follow && q.limit > 0 {
		values.Set("limit", strconv.Itoa(q.limit))
	}
	for name, on := range map[string]bool{"errors": q.errors, "follow": q.follow} {
		if on {
			values.Set(name, "true")
		}
	}
	return values, nil
}

// momentOf parses a duration before now, or a time.
func momentOf(text string, now time.Time) (time.Time, error) {
	var before days
	if before.Set(text) == nil {
		return now.Add(-time.Duration(before)), nil
	}
	return time.Parse(time.RFC3339, text)
}

// auditRow has fixed widths, because a trail that is followed has no end. The longest names of changes and of errors
// fit: CreateMatchmakingConfiguration, FleetCapacityExceededException.
const auditRow = "%-20s  %-24s  %-30s  %-15s  %-30s  %s\n"

// rootOf returns a word for the root key, whose id is that of the account.
func rootOf(i *audit.Identity) string {
	if i.Type == "Root" {
		return "root"
	}
	return ""
}

func auditLine(r *audit.Record) string {
	who := cmp.Or(r.Identity.User, rootOf(&r.Identity), r.Identity.SourceIdentity,
		r.Identity.PrincipalID, r.Identity.Type, "-")
	if r.Identity.Role != "" {
		who += " as " + r.Identity.Role
	}
	event := r.Name
	if r.Count > 1 {
		event += fmt.Sprintf(" (%d times)", r.Count)
	}
	return fmt.Sprintf(auditRow, r.Time.UTC().Format(time.RFC3339), oneLine(who), event, cmp.Or(r.Address, "-"),
		cmp.Or(r.ErrorCode, "ok"), oneLine(strings.Join(r.Resources, ",")))
}
