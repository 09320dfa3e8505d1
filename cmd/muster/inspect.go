package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/backup"
	"github.com/muster-gg/muster/internal/control/history"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/server"
)

// An inspection is a run of muster inspect.
type inspection struct {
	*app
	data, backup string
	identities   backupIdentities
	shard        int
	at, events   string
	history      bool
	asJSON       bool
}

func (a *app) inspectCommand() *cobra.Command {
	i := &inspection{app: a}
	command := &cobra.Command{
		Use:   "inspect",
		Short: "Show the events of a shard, its state after any of them, and the history",
		Long: `Show the content of a backup, or of the data directory of a stopped service: the
shards with their records; the events of one shard; its state after any stored record;
the history of what has ended and left the shards.
Records are numbered from 1; a data directory has those after the older of its two
newest snapshots. To inspect a running service, take a backup.

Events are printed with the sequence number of their record, its time, the number of
the shard's owner, their fleet location or part, their type and content. A state is
printed as in a snapshot. An entry of the history is printed with its number, the time
when it was stored, its fleet location, and what has ended. --json prints a line of JSON
per shard, per record with its events, per record of the state, or per entry.`,
		Example: `  muster inspect --backup region.backup
  muster inspect --backup region.backup --shard 0 --events 1200..1250
  muster inspect --data /var/lib/muster --shard 0 --at 1234 --json
  muster inspect --backup region.backup --history --json`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return i.run(command.Context()) },
	}
	f := command.Flags()
	f.StringVar(&i.data, "data", "", "data directory of a stopped service")
	f.StringVar(&i.backup, "backup", "", "file of a backup")
	i.identities.addFlags(command)
	f.IntVar(&i.shard, "shard", -1, "shard to show, from 0; default: list the shards")
	f.StringVar(&i.at, "at", "", "show the state after this record (end: the newest)")
	f.StringVar(&i.events, "events", "", "show the events of these records: FROM..TO, FROM.., ..TO or a number")
	f.BoolVar(&i.history, "history", false, "show what has ended and left the shards")
	f.BoolVar(&i.asJSON, "json", false, "print lines of JSON")
	return command
}

func (i *inspection) run(ctx context.Context) (err error) {
	if err := i.check(); err != nil {
		return &misuseError{err}
	}
	if i.data == "" {
		return i.identities.with(i.backup, func(file *io.SectionReader) error {
			from, err := backup.OfFile(file)
			if err != nil {
				return err
			}
			return i.print(ctx, from)
		})
	}
	from, closeSource, err := server.OpenData(ctx, i.data, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSource()) }()
	return i.print(ctx, from)
}

func (i *inspection) print(ctx context.Context, from backup.Source) (err error) {
	if n := from.Region().Shards; i.shard >= n {
		return &misuseError{fmt.Errorf("--shard is %d: must be 0 to %d", i.shard, n-1)}
	}
	out := bufio.NewWriter(i.stdout)
	defer func() { err = errors.Join(err, out.Flush()) }()
	switch {
	case i.history:
		return i.past(ctx, out, from)
	case i.shard < 0:
		return i.list(ctx, out, from)
	case i.at != "":
		return i.state(ctx, out, from)
	default:
		return i.show(ctx, out, from)
	}
}

func (i *inspection) check() error {
	switch {
	case (i.data == "") == (i.backup == ""):
		return errors.New("name one of --data and --backup")
	case i.at != "" && i.events != "":
		return errors.New("--at and --events cannot be combined: one shows a state, the other events")
	case i.history && (i.shard >= 0 || i.at != "" || i.events != ""):
		return errors.New("--history is that of all shards: leave out --shard, --at and --events")
	case i.shard < 0 && (i.at != "" || i.events != ""):
		return errors.New("--at and --events require --shard")
	}
	if _, _, err := parseRange(i.events, 1, 1); err != nil {
		return err
	}
	_, err := parseSeq("--at", i.at, 0)
	return err
}

// parseSeq reads the number of a record; "" and "end" mean the last one.
func parseSeq(flag, text string, last uint64) (uint64, error) {
	if text == "" || text == "end" {
		return last, nil
	}
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is %q: must be the number of a record", flag, text)
	}
	return seq, nil
}

// parseRange reads one number, or FROM..TO with optional ends.
func parseRange(text string, first, last uint64) (from, to uint64, err error) {
	low, high, ok := strings.Cut(text, "..")
	if !ok {
		high = low
	}
	if from, to = first, last; low != "" {
		from, err = parseSeq("--events", low, last)
	}
	if err == nil && high != "" {
		to, err = parseSeq("--events", high, last)
	}
	return from, to, err
}

// list prints the shards.
func (i *inspection) list(ctx context.Context, out io.Writer, from backup.Source) error {
	shards, err := backup.Shards(ctx, from)
	if err != nil {
		return err
	}
	if i.asJSON {
		return jsonLines(out, shards)
	}
	r := from.Region()
	fmt.Fprintf(out, "region %s, account %s\n\n", r.Region, r.Account)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SHARD\tSTATES\tEVENTS\tFROM\tTO\tSNAPSHOTS")
	for _, s := range shards {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\n", s.Number, states(s), events(s), moment(s.FirstTime),
			moment(s.LastTime), strings.Trim(fmt.Sprint(s.Snapshots), "[]"))
	}
	return t.Flush()
}

func jsonLines[T any](out io.Writer, all []T) error {
	lines := json.NewEncoder(out)
	for _, one := range all {
		if err := lines.Encode(one); err != nil {
			return err
		}
	}
	return nil
}

func states(s backup.ShardInfo) string {
	if s.FirstAt == nil {
		return "none"
	}
	return fmt.Sprintf("%d..%d", *s.FirstAt, s.Last)
}

func events(s backup.ShardInfo) string {
	if s.First == 0 {
		return "none"
	}
	return fmt.Sprintf("%d..%d", s.First, s.Last)
}

func moment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// show prints events.
func (i *inspection) show(ctx context.Context, out io.Writer, from backup.Source) error {
	held, err := from.Contents(ctx, i.shard)
	if err != nil {
		return err
	}
	first, last, err := parseRange(i.events, max(1, held.First), held.Last)
	if err != nil {
		return err
	}
	if i.events == "" && first > last {
		return nil // no events
	}
	lines := json.NewEncoder(out)
	return backup.Events(ctx, from, i.shard, first, last, func(r backup.Record) error {
		if i.asJSON {
			return lines.Encode(r)
		}
		opening := ""
		if r.Opening {
			opening = "  opening"
		}
		fmt.Fprintf(out, "%d  %s  owner %s%s\n",
			r.Seq, r.Time.UTC().Format("2006-01-02T15:04:05.000Z07:00"), r.Owner, opening)
		return writeFacts(out, r.Facts...)
	})
}

func writeFacts(out io.Writer, facts ...backup.Fact) error {
	for _, f := range facts {
		body, err := json.Marshal(f.Body)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "    %s  %s  %s\n", f.Type, f.In, body); err != nil {
			return err
		}
	}
	return nil
}

// state prints a state.
func (i *inspection) state(ctx context.Context, out io.Writer, from backup.Source) error {
	held, err := from.Contents(ctx, i.shard)
	if err != nil {
		return err
	}
	at, err := parseSeq("--at", i.at, held.Last)
	if err != nil {
		return err
	}
	s, err := backup.StateAt(ctx, from, i.shard, at)
	if err != nil {
		return err
	}
	if i.asJSON {
		lines := json.NewEncoder(out)
		return s.Each(func(f backup.Fact) error { return lines.Encode(f) })
	}
	fmt.Fprintf(out, "shard %d after record %d: the snapshot after record %d, and %s after it\n",
		s.Shard, s.At, s.Snapshot, counted(int(s.Replayed), "record"))
	return s.Each(func(f backup.Fact) error { return writeFacts(out, f) })
}

// A pastEntry is an entry of the history as JSON.
type pastEntry struct {
	Number   uint64      `json:"entry"`
	Time     time.Time   `json:"time"`
	In       string      `json:"in"` // FLEET/LOCATION of a game session, else as in an event
	Type     string      `json:"type"`
	Departed bool        `json:"departed,omitempty"` // one player session, which left memory before its game session
	Body     backup.Body `json:"body"`
}

// past prints the history.
func (i *inspection) past(ctx context.Context, out io.Writer, from backup.Source) error {
	lines := json.NewEncoder(out)
	return from.History(ctx, func(s journal.Stored) error {
		return history.Inspect(s, func(e history.Inspected) error {
			p := pastEntry{Number: e.Number, Time: e.Time.UTC(), Type: region.Events.Name(e.Record),
				Departed: e.Departed, Body: backup.Body{Value: e.Record}}
			switch e.Record.(type) {
			case *placement.Placement:
				p.In = "placements"
			case *matchmaking.Ticket:
				p.In = "matchmaking"
			default:
				p.In = string(e.Room.Fleet) + "/" + e.Room.Location
			}
			if i.asJSON {
				return lines.Encode(p)
			}
			departed := ""
			if p.Departed {
				departed = "  departed"
			}
			body, err := json.Marshal(p.Body)
			fmt.Fprintf(out, "%d  %s  %s  %s%s  %s\n", p.Number, p.Time.Format(time.RFC3339), p.Type, p.In, departed,
				body)
			return err
		})
	})
}
