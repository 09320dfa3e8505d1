package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/operator"
)

func (a *app) topCommand() *cobra.Command {
	return a.operatorCommand(help{
		use:   "top",
		short: "Show the state of the region, as it changes",
		long: `Show game sessions, players, free server processes, what waits, what needs attention,
the busiest fleets and the newest fleet events, as they change, until Ctrl-C or q and Enter.
If the output is no terminal, print them once.`,
		example: `  muster top
  muster top > state.txt`,
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		if isTerminal(o.stdout) {
			return o.topScreen(ctx)
		}
		var s topState
		for name, to := range map[string]any{"overview": &s.region, "fleets": &s.fleets} {
			if err := o.ask(ctx, path(name), to); err != nil {
				return err
			}
		}
		_, err := io.WriteString(o.stdout, s.text())
		return err
	})
}

// A topState is what is shown.
type topState struct {
	region operator.Overview
	fleets control.FleetList
	broken string // why it may be old; "": it is not
}

// Lines of the parts of the screen.
const (
	topAttention = 5
	topEvents    = 8
	topFleets    = 15
)

// text renders the state as lines.
func (s *topState) text() string {
	var out bytes.Buffer
	o := cmp.Or(s.region.Overview, &control.Overview{})
	fmt.Fprintf(&out, "region %s at %s", o.Region, cellText(o.Time))
	if s.broken != "" {
		fmt.Fprintf(&out, "  NOT CONNECTED: %s", oneLine(s.broken))
	}
	fmt.Fprint(&out, "\n\n")
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	row(t, "game sessions", sessionsText(o))
	row(t, "players", fmt.Sprintf("%d of %d", o.Players, o.MaximumPlayers))
	row(t, "free processes", fmt.Sprintf("%d of %d", o.FreeProcesses, o.Processes))
	row(t, "placements", waitText(o.PendingPlacements, o.OldestPlacementMS))
	row(t, "tickets", waitText(o.WaitingTickets, o.OldestTicketMS))
	_ = t.Flush()
	part(&out, "ATTENTION", o.Attention, topAttention, func(to io.Writer, n *control.Attention) { row(to, n.Text) })
	part(&out, "NAME\tPLAYERS\tGAME SESSIONS\tFREE PROCESSES\tFLEET", s.fleets.Fleets, topFleets,
		func(to io.Writer, f *control.FleetRow) {
			row(to, f.Name, fmt.Sprintf("%d of %d", f.Players, f.MaximumPlayers), fmt.Sprint(f.GameSessions),
				fmt.Sprintf("%d of %d", f.FreeProcesses, f.Processes), briefIDs(f.FleetID))
		})
	if len(o.Events) > 0 {
		fmt.Fprint(&out, "\nFLEET EVENTS")
	}
	part(&out, "TIME\tEVENT\tMESSAGE", o.Events, topEvents, func(to io.Writer, e *control.OverviewEvent) {
		row(to, e.Time.UTC().Format("15:04:05Z"), e.Code, briefIDs(aboutFleet(e)))
	})
	return out.String()
}

// aboutFleet returns the message of a fleet event, with the fleet if the message does not name it.
func aboutFleet(e *control.OverviewEvent) string {
	if strings.Contains(e.Message, e.FleetID) {
		return e.Message
	}
	return e.FleetID + ": " + e.Message
}

// part writes the first rows of a list, if it has any, and how many others there are.
func part[T any](to io.Writer, head string, list []T, most int, write func(to io.Writer, each *T)) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(to)
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, head)
	for i := range list[:min(len(list), most)] {
		write(t, &list[i])
	}
	_ = t.Flush()
	if left := len(list) - most; left > 0 {
		fmt.Fprintf(to, "and %d more\n", left)
	}
}

const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l" // the other screen, no cursor, long lines are cut off
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"

	topRetry = time.Second // before a stream that has ended is opened again
)

// topScreen redraws the screen at each snapshot, until ctx ends or the user enters q. It fails if the first streams do.
func (o *operatorCall) topScreen(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go o.awaitQuit(cancel) // ends with the process, or with standard input
	var mu sync.Mutex
	var s topState
	draw := func(change func() error) error {
		mu.Lock()
		defer mu.Unlock()
		if err := change(); err != nil {
			return err
		}
		text := strings.ReplaceAll(s.text()+"\nCtrl-C, or q and Enter, ends.\n", "\n", "\x1b[K\n")
		_, err := io.WriteString(o.stdout, "\x1b[H"+text+"\x1b[J")
		return err
	}
	fmt.Fprint(o.stdout, enterScreen)
	defer fmt.Fprint(o.stdout, leaveScreen)
	ended := make(chan error, 2)
	for topic, take := range map[string]func(data []byte) error{
		"overview": func(data []byte) error { return decodeNew(data, &s.region) },
		"fleets":   func(data []byte) error { return decodeNew(data, &s.fleets) },
	} {
		go func() {
			ended <- o.watchTopic(ctx, topic, func(data []byte, broken error) error {
				return draw(func() error {
					if broken != nil {
						s.broken = broken.Error()
						return nil
					}
					s.broken = ""
					return take(data)
				})
			})
			cancel() // the other one
		}()
	}
	return errors.Join(<-ended, <-ended)
}

func (o *operatorCall) awaitQuit(quit func()) {
	for lines := bufio.NewScanner(o.stdin); lines.Scan(); {
		if strings.TrimSpace(lines.Text()) == "q" {
			quit()
			return
		}
	}
}

// decodeNew replaces a value. What the data lacks does not stay.
func decodeNew[T any](data []byte, to *T) error {
	var v T
	err := decodeTo(&v)(bytes.NewReader(data))
	*to = v
	return err
}

// watchTopic shows the snapshots of a topic until ctx ends, which is no failure. A stream that ends after a first
// snapshot is opened again: broken is why it ended, until then.
func (o *operatorCall) watchTopic(ctx context.Context, topic string, show func(data []byte, broken error) error) error {
	seen := false
	for {
		err := o.snapshots(ctx, topic, func(data []byte) error {
			seen = true
			return show(data, nil)
		})
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			err = errors.New("the service has ended the stream")
		}
		if !seen {
			return err
		}
		if err := show(nil, err); err != nil {
			return err
		}
		if o.pause(ctx, topRetry) != nil {
			return nil
		}
	}
}

// snapshots shows the snapshots of one stream.
func (o *operatorCall) snapshots(ctx context.Context, topic string, show func(data []byte) error) error {
	request, err := o.signed(ctx, http.MethodGet, path("watch")+"?topic="+topic, nil)
	if err != nil {
		return err
	}
	event := ""
	return o.perform(request, func(from io.Reader) error {
		return eachLine(from, func(line []byte) error {
			name, value, _ := strings.Cut(string(line), ": ")
			switch {
			case name == "event":
				event = value
			case name == "data" && event == "error":
				return refusal("an error", []byte(value))
			case name == "data":
				return show([]byte(value))
			}
			return nil
		})
	})
}
