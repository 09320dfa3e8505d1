package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/operator"
)

func (a *app) getCommand() *cobra.Command {
	get := parentCommand(help{
		use:   "get",
		short: "List what a region has",
		long: `List fleets, computes, server processes, locations, queues, game sessions, the player
sessions of a player, placements and tickets, builds, nodes, shards, machines and instances,
find what an id, a name or an address belongs to, and show the state of the region. -o wide
adds columns.`,
		example: `  muster get overview
  muster get fleets -o wide
  muster get sessions --query "gameSessionProperties.mode = 'ranked'" --since 1h
  muster get player anna
  muster get find 203.0.113.7:7777`,
	}, a.getOverviewCommand(), a.getFleetsCommand(), a.getComputesCommand(), a.getProcessesCommand(),
		a.getLocationsCommand(), a.getQueuesCommand(), a.getSessionsCommand(), a.getPlayerCommand(),
		a.getPlacementsCommand(), a.getTicketsCommand(), a.getBuildsCommand(), a.getNodesCommand(),
		a.getShardsCommand(), a.machinesCommand("machines"), a.getInstancesCommand(),
		a.findCommand())
	for _, command := range get.Commands() {
		command.Aliases = append(command.Aliases, otherNumber(command.Name()))
	}
	return get
}

// otherNumber returns the singular of a plural name, and the plural of a singular one.
func otherNumber(name string) string {
	if singular, ok := strings.CutSuffix(name, "sses"); ok {
		return singular + "ss"
	}
	if singular, ok := strings.CutSuffix(name, "s"); ok {
		return singular
	}
	return name + "s"
}

func (a *app) getOverviewCommand() *cobra.Command {
	return a.viewCommand(help{
		use:   "overview",
		short: "Show the state of the region, and what needs attention",
		long: `Show how many game sessions, players and server processes there are, what waits, what
needs attention, and what changed in the last 10 minutes.`,
		example: `  muster get overview
  muster get overview --json`,
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		var v operator.Overview
		if err := o.ask(ctx, path("overview"), &v); err != nil {
			return err
		}
		if v.Overview == nil {
			return errors.New("decode the answer: it is empty")
		}
		return o.show(v, func(to io.Writer) {
			row(to, "game sessions", sessionsText(v.Overview))
			row(to, "player sessions", fmt.Sprintf("%d of %d", v.Players, v.MaximumPlayers))
			row(to, "server processes", fmt.Sprintf("%d on %s, of which %d free", v.Processes,
				counted(v.Computes, "compute"), v.FreeProcesses))
			row(to, "placements", waitText(v.PendingPlacements, v.OldestPlacementMS))
			row(to, "tickets", waitText(v.WaitingTickets, v.OldestTicketMS))
			for _, n := range v.Attention {
				row(to, "ATTENTION", n.Text)
			}
			if len(v.Events) > 0 {
				fmt.Fprintln(to, "\nFLEET EVENTS, the newest first")
			}
			for _, e := range v.Events {
				row(to, e.Time, e.FleetID+" "+e.Code+" "+e.Message)
			}
			if len(v.Changes) > 0 {
				fmt.Fprintln(to, "\nCHANGES, the newest first")
			}
			for _, c := range v.Changes {
				row(to, c.Time, strings.TrimSpace(c.Name+" by "+c.User+" "+strings.Join(c.Resources, " ")))
			}
		})
	})
}

// sessionsText returns a number of game sessions with those that are not ACTIVE yet.
func sessionsText(o *control.Overview) string {
	if o.Activating == 0 {
		return strconv.Itoa(o.GameSessions)
	}
	return fmt.Sprintf("%d, of which %d ACTIVATING", o.GameSessions, o.Activating)
}

func waitText(n int, oldestMS int64) string {
	if n == 0 {
		return "none waits"
	}
	return fmt.Sprintf("%d waiting, the oldest for %s", n, msText(oldestMS))
}

func msText(ms int64) string { return shortDuration(time.Duration(ms) * time.Millisecond) }

func (a *app) getSessionsCommand() *cobra.Command {
	query := url.Values{}
	var limit int
	var since time.Duration
	command := a.viewCommand(help{
		use:   "sessions",
		short: "List the game sessions of the region",
		long: `List the game sessions of all fleets: those that have not ended, the newest first, and
with --since those that ended within that time.`,
		example: `  muster get sessions --fleet fleet-1234 --status ACTIVE
  muster get sessions --query "playerSessionCount > 10" --sort "playerSessionCount DESC"
  muster get sessions --since 24h --json`,
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		if since < 0 {
			return &misuseError{fmt.Errorf("--since is %s: must be a time before now, such as 24h", since)}
		}
		if since > 0 {
			query.Set("since", a.time().Now().Add(-since).UTC().Format(time.RFC3339))
		}
		all := control.SessionList{GameSessions: []control.ListedSession{}}
		err := o.pages(ctx, path("game-sessions"), query, limit, func(path string) (string, int, error) {
			var page control.SessionList
			err := o.ask(ctx, path, &page)
			all.GameSessions = append(all.GameSessions, page.GameSessions...)
			return page.NextToken, len(all.GameSessions), err
		})
		if err != nil {
			return err
		}
		if len(all.GameSessions) == 0 {
			if err := o.checkFleet(ctx, query.Get("fleet")); err != nil {
				return err
			}
		}
		all.GameSessions = all.GameSessions[:min(len(all.GameSessions), limit)]
		return o.show(all, func(to io.Writer) {
			o.line(to, cells{"STATUS", "PLAYERS", "ADDRESS", "GAME SESSION", "NAME"}, "CREATED", "ENDED", "REASON",
				"FLEET", "LOCATION", "COMPUTE", "CREATOR", "PLACEMENT", "MATCH", "ARN")
			for _, g := range all.GameSessions {
				o.line(to, cells{string(g.Status), fmt.Sprintf("%d/%d", g.Players, g.Maximum),
					hostPort(g.IPAddress, g.Port), shortID(g.GameSessionArn), g.Name},
					g.CreationTime, g.EndTime, g.Reason, g.FleetID, g.Location, g.Compute, g.CreatorID, g.Placement,
					g.Match, g.GameSessionArn)
			}
		})
	})
	f := command.Flags()
	for _, p := range []struct{ flag, name, usage string }{
		{"fleet", "fleet", "only those of a fleet, by its id"},
		{"location", "location", "only those in a location"},
		{"status", "status", "only those in a status: ACTIVATING, ACTIVE, TERMINATING, TERMINATED"},
		{"query", "q", "only those that a filter expression of SearchGameSessions matches"},
		{"sort", "sort", "order of those that have not ended, as in SearchGameSessions"},
	} {
		f.Func(p.flag, p.usage, func(value string) error {
			query.Set(p.name, value)
			return nil
		})
	}
	f.DurationVar(&since, "since", 0, "also those that ended within this time")
	f.IntVar(&limit, "limit", 100, "maximum number of game sessions")
	return command
}

// hostPort returns an address; "" without a host.
func hostPort(host string, port int32) string {
	if host == "" {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// shortID returns the last part of an ARN, which is the id: it fits into a terminal.
func shortID(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

// pages asks for page after page until there is none, or there are enough rows. ask returns the token of the next page
// and the number of rows so far. A note on standard error reports that there are more.
func (o *operatorCall) pages(
	ctx context.Context, path string, query url.Values, limit int,
	ask func(path string) (next string, n int, err error),
) error {
	return o.pagesOf(ctx, []string{path}, query, limit, func(_ int, path string) (string, int, error) {
		return ask(path)
	})
}

// pagesOf is pages of several lists, one after the other. ask gets the index of the list.
func (o *operatorCall) pagesOf(
	ctx context.Context, paths []string, query url.Values, limit int,
	ask func(list int, path string) (next string, n int, err error),
) error {
	if limit < 1 {
		return &misuseError{fmt.Errorf("--limit is %d: must be at least 1", limit)}
	}
	for i, path := range paths {
		query.Del("after")
		for {
			next, n, err := ask(i, path+"?"+query.Encode())
			if err != nil || ctx.Err() != nil {
				return errors.Join(err, ctx.Err())
			}
			if n > limit || n == limit && next != "" {
				fmt.Fprintf(o.stderr, "There are more than %d: give --limit.\n", limit)
				return nil
			}
			if next == "" {
				break
			}
			query.Set("after", next)
		}
	}
	return nil
}

func (a *app) getPlayerCommand() *cobra.Command {
	return a.viewCommand(help{
		use:   "player ID",
		short: "Show the player sessions and tickets of a player",
		long: `Show up to 100 player sessions of a player in all fleets, and the matchmaking
tickets that have not ended.`,
		example: `  muster get player anna`,
	}, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		var p control.Player
		if err := o.ask(ctx, path("players", args[0]), &p); err != nil {
			return err
		}
		return o.show(p, func(to io.Writer) {
			o.line(to, cells{"CREATED", "STATUS", "ADDRESS", "PLAYER SESSION", "GAME SESSION OR TICKET"},
				"CONFIGURATION", "ACCEPTED", "EXPIRES", "ENDED", "FLEET", "LOCATION", "GAME SESSION ARN")
			for _, s := range p.PlayerSessions {
				o.line(to, cells{s.CreationTime, string(s.Status), hostPort(s.IPAddress, s.Port), s.PlayerSessionID,
					shortID(s.GameSessionArn)}, "", s.AcceptTime, s.ExpireTime, s.EndTime, s.FleetID, s.Location,
					s.GameSessionArn)
			}
			for _, t := range p.Tickets {
				o.line(to, cells{t.StartTime, string(t.Status), "", "", "ticket " + t.TicketID}, t.Configuration, "",
					"", t.EndTime, "", "", "")
			}
		})
	})
}

// listing returns a command that lists the rows of a queue or configuration, or of all that names returns, with its
// flags.
func (a *app) listing(
	h help, names func(ctx context.Context, o *operatorCall) ([]string, error),
	show func(ctx context.Context, o *operatorCall, names []string, q url.Values, limit int) error,
) *cobra.Command {
	var status string
	var limit int
	command := a.viewCommand(h, cobra.MaximumNArgs(1), func(ctx context.Context, o *operatorCall, args []string) (
		err error) {
		q := url.Values{}
		if status != "" {
			q.Set("status", status)
		}
		if len(args) == 0 {
			if args, err = names(ctx, o); err != nil {
				return err
			}
		}
		return show(ctx, o, args, q, limit)
	})
	command.Flags().StringVar(&status, "status", "", "only those in a status, such as FAILED")
	command.Flags().IntVar(&limit, "limit", 100, "maximum number of rows")
	return command
}

// pathsOf returns the paths of the lists of things.
func pathsOf(kind string, names []string, list string) (paths []string) {
	for _, name := range names {
		paths = append(paths, path(kind, name, list))
	}
	return paths
}

func queueNames(ctx context.Context, o *operatorCall) ([]string, error) {
	return rowsOf(ctx, gamelift.NewDescribeGameSessionQueuesPaginator(o.gamelift(), nil),
		func(page *gamelift.DescribeGameSessionQueuesOutput) (names []string) {
			for _, q := range page.GameSessionQueues {
				names = append(names, aws.ToString(q.Name))
			}
			return names
		})
}

func configurationNames(ctx context.Context, o *operatorCall) ([]string, error) {
	return rowsOf(ctx, gamelift.NewDescribeMatchmakingConfigurationsPaginator(o.gamelift(), nil),
		func(page *gamelift.DescribeMatchmakingConfigurationsOutput) (names []string) {
			for _, c := range page.Configurations {
				names = append(names, aws.ToString(c.Name))
			}
			return names
		})
}

func (a *app) getPlacementsCommand() *cobra.Command {
	return a.listing(help{
		use:   "placements [QUEUE]",
		short: "List the placements of a queue, or of all, that are in memory",
		example: `  muster get placements --status FAILED
  muster get placements ranked`,
	}, queueNames, func(ctx context.Context, o *operatorCall, names []string, q url.Values, limit int) error {
		all := control.PlacementList{Placements: []control.PlacementRow{}}
		err := o.pagesOf(ctx, pathsOf("queues", names, "placements"), q, limit,
			func(_ int, path string) (string, int, error) {
				var page control.PlacementList
				err := o.ask(ctx, path, &page)
				all.Placements = append(all.Placements, page.Placements...)
				return page.NextToken, len(all.Placements), err
			})
		if err != nil {
			return err
		}
		all.Placements = all.Placements[:min(len(all.Placements), limit)]
		return o.show(all, func(to io.Writer) {
			o.line(to, cells{"STARTED", "STATUS", "AGE", "PLACEMENT", "QUEUE", "LOCATION", "REASON"}, "FLEET", "ENDED",
				"ATTEMPT", "MATCH", "GAME SESSION")
			for _, p := range all.Placements {
				o.line(to, cells{p.StartTime, string(p.Status), msText(p.AgeMS), p.PlacementID, p.Queue, p.Location,
					p.Reason}, p.FleetID, p.EndTime, p.Attempt, p.Match, p.GameSession)
			}
		})
	})
}

func (a *app) getTicketsCommand() *cobra.Command {
	return a.listing(help{
		use:   "tickets [CONFIGURATION]",
		short: "List the tickets of a matchmaking configuration, or of all, that are in memory",
		example: `  muster get tickets --status SEARCHING
  muster get tickets duel`,
	}, configurationNames, func(ctx context.Context, o *operatorCall, names []string, q url.Values, limit int) error {
		all := control.TicketList{Tickets: []control.TicketRow{}}
		err := o.pagesOf(ctx, pathsOf("configurations", names, "tickets"), q, limit,
			func(_ int, path string) (string, int, error) {
				var page control.TicketList
				err := o.ask(ctx, path, &page)
				all.Tickets = append(all.Tickets, page.Tickets...)
				return page.NextToken, len(all.Tickets), err
			})
		if err != nil {
			return err
		}
		all.Tickets = all.Tickets[:min(len(all.Tickets), limit)]
		return o.show(all, func(to io.Writer) {
			o.line(to, cells{"STARTED", "STATUS", "AGE", "TICKET", "CONFIGURATION", "PLAYERS", "MESSAGE"}, "ENDED",
				"BACKFILL", "MATCH", "GAME SESSION")
			for _, t := range all.Tickets {
				o.line(to, cells{t.StartTime, string(t.Status), msText(t.AgeMS), t.TicketID, t.Configuration,
					t.Players, t.Message}, t.EndTime, t.Backfill, t.Match, t.GameSession)
			}
		})
	})
}

func (a *app) findCommand() *cobra.Command {
	return a.viewCommand(help{
		use:   "find TEXT",
		short: "Find what an id, a name, an address or a player belongs to",
		long: `Find what a text means: an id, an ARN, a name, the beginning of one of them (at least 4
characters), an address with or without its port, or the id of a player.`,
		example: `  muster get find gsess-1234
  muster get find 203.0.113.7:7777`,
	}, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		var found control.Lookup
		if err := o.ask(ctx, path("search")+"?"+url.Values{"q": args}.Encode(), &found); err != nil {
			return err
		}
		return o.show(found, func(to io.Writer) {
			o.line(to, cells{"KIND", "STATUS", "TITLE", "ID"}, "EXACT", "CONSOLE")
			for _, h := range found.Hits {
				o.line(to, cells{h.Kind, string(h.Status), h.Title, h.ID}, h.Exact, h.Path)
			}
			if found.Partial {
				row(to, "(there may be more: give more of the text)")
			}
		})
	})
}
