package matchsim

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mailru/easyjson/jlexer"

	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// maxLine is the maximum length of a line, enough for 200 players with all attributes.
const maxLine = 8 << 20

// ReadTickets reads the tickets of a simulation, ordered by their start; see the package documentation for the format.
// Attributes must have the types of the set; further limits of the service are not checked. Errors name the line and
// the member.
func ReadTickets(from io.Reader, set *ruleset.Set) ([]*matcher.Ticket, error) {
	r := &reader{set: set, slots: map[string]int{}, lines: map[string]int{}}
	for slot, a := range set.Attributes {
		r.slots[a.Name] = slot
	}
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		r.line++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := r.read(lines.Bytes()); err != nil {
			return nil, fmt.Errorf("line %d: %w", r.line, err)
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return nil, fmt.Errorf("line %d is longer than %d bytes", r.line+1, maxLine)
		}
		return nil, err
	}
	slices.SortStableFunc(r.tickets, func(a, b *matcher.Ticket) int { return a.Start.Compare(b.Start) })
	return r.tickets, nil
}

type reader struct {
	set     *ruleset.Set
	slots   map[string]int // of the attributes
	lines   map[string]int // by ticket id
	line    int
	stamped member // member with the time in all lines; "" before the first
	tickets []*matcher.Ticket
}

// A member contains the time of a request.
type member string

const (
	memberAt        member = "At"
	memberStartTime member = "StartTime"
)

func (r *reader) read(line []byte) error {
	form, err := formOf(line)
	if err != nil {
		return err
	}
	ticket, err := r.ticket(form, line)
	if err != nil {
		return err
	}
	if ticket.Start, err = r.start(form); err != nil {
		return err
	}
	if ticket.ID == "" {
		ticket.ID = fmt.Sprintf("line-%d", r.line)
	}
	if before := r.lines[ticket.ID]; before > 0 {
		return fmt.Errorf("TicketId %s is also in line %d", ticket.ID, before)
	}
	r.lines[ticket.ID] = r.line
	r.tickets = append(r.tickets, ticket)
	return nil
}

// A form is what a line has besides the members of the API.
type form struct {
	configured bool // ConfigurationName
	players    bool
	backfill   bool // GameSessionArn
	at         *float64
	startTime  *time.Time
}

// The members of a line and of a player. The API ignores unknown members, so they are checked here.
var (
	lineMembers = []string{
		"TicketId", "ConfigurationName", "Players", "GameSessionArn", string(memberAt), string(memberStartTime),
	}
	playerMembers = []string{"PlayerId", "PlayerAttributes", "LatencyInMs", "Team"}
)

// formOf scans a line.
func formOf(line []byte) (form, error) {
	var f form
	var err error
	lex := &jlexer.Lexer{Data: line}
	members(lex, func(name string) {
		switch name {
		case "ConfigurationName":
			f.configured = true
		case "GameSessionArn":
			f.backfill = true
		case string(memberAt):
			at := lex.Float64()
			f.at = &at
			return
		case string(memberStartTime):
			f.startTime = startTime(lex)
			return
		case "Players":
			f.players = true
			err = cmp.Or(err, playersOf(lex))
			return
		default:
			err = cmp.Or(err, known(name, lineMembers, ""))
		}
		lex.SkipRecursive()
	})
	lex.Consumed()
	switch {
	case lex.Error() != nil:
		return f, fmt.Errorf("not a JSON object as expected: %w", lex.Error())
	case err != nil:
		return f, err
	case !f.players:
		return f, errors.New("member Players is missing")
	default:
		return f, nil
	}
}

// members calls each for the members of an object, with the lexer at the value.
func members(lex *jlexer.Lexer, each func(name string)) {
	for lex.Delim('{'); !lex.IsDelim('}') && lex.Ok(); lex.WantComma() {
		name := lex.UnsafeFieldName(false)
		lex.WantColon()
		each(name)
	}
	lex.Delim('}')
}

// playersOf scans the players of a line.
func playersOf(lex *jlexer.Lexer) (err error) {
	i := 0
	for lex.Delim('['); !lex.IsDelim(']') && lex.Ok(); lex.WantComma() {
		named := false
		members(lex, func(name string) {
			named = named || name == "PlayerId"
			err = cmp.Or(err, known(name, playerMembers, fmt.Sprintf("Players[%d].", i)))
			lex.SkipRecursive()
		})
		if !named && err == nil {
			err = fmt.Errorf("Players[%d].PlayerId is missing", i)
		}
		i++
	}
	lex.Delim(']')
	return err
}

func known(name string, names []string, path string) error {
	if slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("unknown member %s%s: must be one of %s", path, name, strings.Join(names, ", "))
}

// startTime reads epoch seconds or RFC 3339.
func startTime(lex *jlexer.Lexer) *time.Time {
	var at time.Time
	if seconds := lex.JsonNumber(); strings.ContainsAny(seconds.String(), "T:") {
		parsed, err := time.Parse(time.RFC3339Nano, seconds.String())
		if err != nil {
			lex.AddError(fmt.Errorf("StartTime: %w", err))
		}
		at = parsed
	} else {
		v, err := seconds.Float64()
		if err != nil {
			lex.AddError(fmt.Errorf("StartTime: %w", err))
		}
		at = time.Unix(0, 0).Add(time.Duration(v * float64(time.Second)))
	}
	return &at
}

// maxAt limits a simulation to a year, in seconds.
const maxAt = 366 * 24 * 60 * 60

// start returns the time of a request. At counts from the epoch.
func (r *reader) start(f form) (time.Time, error) {
	has := memberAt
	switch {
	case f.at != nil && f.startTime != nil:
		return time.Time{}, errors.New("a line cannot have both At and StartTime")
	case f.startTime != nil:
		has = memberStartTime
	}
	if r.stamped == "" {
		r.stamped = has
	}
	if has != r.stamped {
		return time.Time{}, fmt.Errorf("member %s is missing, but lines before have it", r.stamped)
	}
	switch {
	case has == memberStartTime:
		return *f.startTime, nil
	case f.at == nil:
		return time.Unix(0, 0), nil
	case *f.at < 0 || *f.at > maxAt:
		return time.Time{}, fmt.Errorf("member At is %v: must be seconds from the start, 0 to %d", *f.at, maxAt)
	default:
		return time.Unix(0, 0).Add(time.Duration(*f.at * float64(time.Second))), nil
	}
}

// configured is inserted before the members of a line without ConfigurationName.
const configured = `{"ConfigurationName":"simulation",`

// ticket decodes a line as the API does.
func (r *reader) ticket(f form, line []byte) (*matcher.Ticket, error) {
	if !f.configured {
		line = append([]byte(configured), bytes.TrimSpace(line)[1:]...)
	}
	t := &matcher.Ticket{Backfill: f.backfill}
	var players []wire.Player
	if f.backfill {
		in, err := wire.OpStartMatchBackfill.Decode(wire.JSON, line)
		if err != nil {
			return nil, message(err)
		}
		t.ID, players = in.TicketId, in.Players
	} else {
		in, err := wire.OpStartMatchmaking.Decode(wire.JSON, line)
		if err != nil {
			return nil, message(err)
		}
		t.ID, players = in.TicketId, in.Players
	}
	if len(players) == 0 {
		return nil, errors.New("member Players is empty")
	}
	for i := range players {
		player, err := r.player(&players[i], fmt.Sprintf("Players[%d]", i))
		if err != nil {
			return nil, err
		}
		t.Players = append(t.Players, player)
	}
	return t, nil
}

// message returns the message of a fault without its kind.
func message(err error) error { return errors.New(fault.Of(err).Message) }

func (r *reader) player(p *wire.Player, path string) (matcher.Player, error) {
	attributes := make(map[string]ruleset.Value, len(p.PlayerAttributes))
	player := matcher.Player{ID: p.PlayerId, Team: p.Team, Attributes: attributes}
	for name, given := range p.PlayerAttributes {
		value, err := valueOf(given)
		if err != nil {
			return player, fmt.Errorf("%s.PlayerAttributes.%s %w", path, name, err)
		}
		if slot, declared := r.slots[name]; declared {
			if err := r.set.Attributes[slot].Check(value); err != nil {
				return player, fmt.Errorf("%s.PlayerAttributes.%s: %w", path, name, err)
			}
		}
		player.Attributes[name] = value
	}
	if len(p.LatencyInMs) > 0 {
		player.Latency = make(map[string]int, len(p.LatencyInMs))
	}
	for location, ms := range p.LatencyInMs {
		player.Latency[location] = int(ms)
	}
	return player, nil
}

// valueOf returns the value of an attribute, which must have exactly one of four members.
func valueOf(a wire.AttributeValue) (v ruleset.Value, err error) {
	given := 0
	if n, ok := a.N.Get(); ok {
		v, given = ruleset.Value{Type: ruleset.Number, N: n}, given+1
	}
	if a.S != "" {
		v, given = ruleset.Value{Type: ruleset.String, S: a.S}, given+1
	}
	if a.SL != nil {
		v, given = ruleset.List(a.SL), given+1
	}
	if a.SDM != nil {
		v, given = ruleset.Value{Type: ruleset.NumberMap, SDM: a.SDM}, given+1
	}
	if given != 1 {
		return v, fmt.Errorf("has %d values; give exactly one of S, N, SL and SDM", given)
	}
	return v, nil
}
