package fleet

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/event/eventtest"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestScripts plays the stories in testdata/*.txt. A line that begins with
// "do" is a command, one with "wait" lets time pass; the indented lines below
// are what came of it: events, or a fault. -update writes them anew.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			s := &script{world: newWorld(t), players: map[string]PlayerSessionID{},
				labels: map[PlayerSessionID]string{}}
			eventtest.Golden(t, file, s.play(eventtest.ReadGolden(t, file)))
		})
	}
}

// A script is a world that is told what to do in words. Times are shown as the
// time since its beginning, player sessions as ps-1, ps-2, …
type script struct {
	*world
	players map[string]PlayerSessionID
	labels  map[PlayerSessionID]string
	out     strings.Builder
}

// play returns the script with what came of it.
func (s *script) play(text string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, " ") {
			continue
		}
		s.out.WriteString(line)
		line, _, _ = strings.Cut(line, "#")
		switch words := strings.Fields(line); {
		case len(words) == 0:
		case words[0] == "do" && len(words) > 1:
			s.command(words[1], words[2:])
		case words[0] == "wait" && len(words) == 2:
			s.show(s.wait(s.duration(words[1])))
		default:
			s.t.Fatalf("not a line of a script: %q", line)
		}
	}
	if !reflect.DeepEqual(snapshotOf(s.t, s.replay()), snapshotOf(s.t, s.room)) {
		s.t.Error("the replayed room differs from the live one")
	}
	return s.out.String()
}

// arguments are the words behind a command: some in order, then name=value.
type arguments struct {
	*script
	words []string
	named map[string]string
}

func (s *script) command(name string, words []string) {
	a := &arguments{script: s, named: map[string]string{}}
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok {
			a.named[k] = v
		} else {
			a.words = append(a.words, w)
		}
	}
	build, ok := scriptCommands[name]
	if !ok {
		s.t.Fatalf("no command is called %q", name)
	}
	events, _, err := s.try(build(a))
	if err != nil {
		f := fault.Of(err)
		fmt.Fprintf(&s.out, "     fault %s: %s\n", f.Kind, f.Message)
	}
	s.show(events)
}

var scriptCommands = map[string]func(a *arguments) Command{
	"RegisterCompute": func(a *arguments) Command {
		return RegisterCompute{Name: a.word(0), IPAddress: "10.0.0.1"}
	},
	"DeregisterCompute": func(a *arguments) Command { return DeregisterCompute{a.word(0)} },
	"IssueToken":        func(a *arguments) Command { return IssueToken{a.word(0)} },
	"LoseProcess":       func(a *arguments) Command { return LoseProcess{ProcessKey: a.process()} },
	"Interrupt":         func(*arguments) Command { return Interrupt{} },
	"ReadyProcess":      func(a *arguments) Command { return ReadyProcess{ProcessKey: a.process(), Port: 7777} },
	"ReleaseProcess":    func(a *arguments) Command { return ReleaseProcess{a.process(), a.word(1)} },
	"MoveProcess":       func(a *arguments) Command { return MoveProcess{a.process()} },
	"EndProcess":        func(a *arguments) Command { return EndProcess{a.process()} },
	"ExitProcess": func(a *arguments) Command {
		c := ExitProcess{ProcessKey: a.process(), Reason: ExitReason(a.word(1))}
		if len(a.words) > 2 {
			c.Detail = strings.Join(a.words[2:], " ") + "."
		}
		return c
	},
	"StopCompute": func(a *arguments) Command {
		c := StopCompute{Name: a.word(0), Stopped: a.named["stopped"] != "", Idle: a.named["idle"] != ""}
		if only := a.named["only"]; only != "" {
			c.Only = strings.Split(only, ",")
		}
		return c
	},
	"CloseCompute": func(a *arguments) Command {
		return CloseCompute{a.word(0), time.Duration(a.number(1)) * time.Minute}
	},
	"ReportHealth":              func(a *arguments) Command { return ReportHealth{a.process(), a.word(1) == "good"} },
	"ActivateGameSession":       func(a *arguments) Command { return ActivateGameSession{a.process(), a.word(1)} },
	"TerminateGameSession":      func(a *arguments) Command { return TerminateGameSession{a.word(0)} },
	"ForceTerminateGameSession": func(a *arguments) Command { return ForceTerminateGameSession{a.word(0)} },
	"ReportBackoffs": func(a *arguments) Command {
		c := ReportBackoffs{Compute: a.word(0)}
		for _, id := range a.words[1:] {
			c.Backoffs = append(c.Backoffs, Backoff{LaunchPath: "/s", Process: id, Crashes: 1, Output: "last words"})
		}
		return c
	},
	"SuperviseProcesses": func(a *arguments) Command {
		return SuperviseProcesses{a.process().Compute, []string{a.process().ID}}
	},
	"ForgetGameSession":    func(a *arguments) Command { return ForgetGameSessions{[]uint64{uint64(a.number(0))}} },
	"SetPolicy":            func(a *arguments) Command { return SetPolicy{a.process(), a.word(1), Policy(a.word(2))} },
	"AcceptPlayerSession":  func(a *arguments) Command { return AcceptPlayer{a.process(), a.word(1), a.player(2)} },
	"RemovePlayerSession":  func(a *arguments) Command { return RemovePlayer{a.process(), a.word(1), a.player(2)} },
	"CreatePlayerSessions": func(a *arguments) Command { return a.newPlayers() },
	"CreateGameSession":    func(a *arguments) Command { return a.newGameSession() },
	"ConfirmGameSession":   func(a *arguments) Command { return ConfirmGameSession{a.word(0)} },
	"ClaimGameSession":     func(a *arguments) Command { return a.claim() },
	"UpdateMaximumPlayers": func(a *arguments) Command {
		n := a.number(1)
		return UpdateGameSession{ID: a.word(0),
			Maximum: &n}
	},
	"ConnectProcess":        func(a *arguments) Command { return a.connect() },
	"UpdateGameSessionName": func(a *arguments) Command { return UpdateGameSession{ID: a.word(0), Name: a.word(1)} },
}

func (a *arguments) word(i int) string {
	a.t.Helper()
	if i >= len(a.words) {
		a.t.Fatalf("argument %d is missing behind %v", i+1, a.words)
	}
	return a.words[i]
}

func (a *arguments) number(i int) int32 {
	n, err := strconv.ParseInt(a.word(i), 10, 32)
	if err != nil {
		a.t.Fatal(err)
	}
	return int32(n)
}

func (a *arguments) process() ProcessKey {
	compute, id, _ := strings.Cut(a.word(0), "/")
	return ProcessKey{compute, id}
}

func (a *arguments) player(i int) PlayerSessionID {
	id, ok := a.players[a.word(i)]
	if !ok {
		a.t.Fatalf("there is no player session %s yet", a.word(i))
	}
	return id
}

func (a *arguments) connect() Command {
	c := ConnectProcess{ProcessKey: a.process(), Idempotency: a.named["run"]}
	if token := a.named["token"]; token != "" {
		serial, err := strconv.ParseUint(token, 10, 64)
		if err != nil {
			a.t.Fatal(err)
		}
		c.Token = serial
	}
	return c
}

func (a *arguments) newGameSession() Command {
	c := creation(a.word(0))
	if maximum := a.named["maximum"]; maximum != "" {
		n, err := strconv.ParseInt(maximum, 10, 32)
		if err != nil {
			a.t.Fatal(err)
		}
		c.Maximum = int32(n)
	}
	if timeout := a.named["timeout"]; timeout != "" {
		c.ActivationTimeout = a.duration(timeout)
	}
	if within := a.named["confirm"]; within != "" {
		c.ConfirmWithin = a.duration(within)
	}
	c.Fingerprint = fmt.Append(nil, c.Maximum)
	return c
}

// claim labels the player session that it makes as newPlayers does, in whichever
// game session that will be.
func (a *arguments) claim() Command {
	random := a.random()
	for ordinal := range a.room.header.Sessions {
		id, label := newPlayerSessionID(a.room.address, ordinal+1, random), fmt.Sprint("ps-", a.randoms)
		a.labels[id] = label
		if g, ok := a.room.sessions.Get(ordinal + 1); ok && g.Status == Active && len(g.CurrentPlayers) == 0 &&
			a.players[label] == (PlayerSessionID{}) {
			a.players[label] = id
		}
	}
	return ClaimGameSession{Name: a.word(0), Maximum: 2, Player: NewPlayer{PlayerID: a.word(1), Random: random}}
}

// newPlayers labels the new player sessions in the order in which they are asked for.
func (a *arguments) newPlayers() Command {
	c := ReservePlayers{GameSession: a.word(0)}
	g, _ := a.room.session(c.GameSession)
	for _, player := range a.words[1:] {
		random := a.random()
		if g != nil {
			id := newPlayerSessionID(a.room.address, g.Ordinal, random)
			label := fmt.Sprint("ps-", a.randoms)
			a.players[label], a.labels[id] = id, label
		}
		c.Players = append(c.Players, NewPlayer{PlayerID: player, Random: random})
	}
	return c
}

func (s *script) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *script) show(events []any) {
	for _, e := range events {
		fmt.Fprintf(&s.out, "     %s%s\n", types.Name(e), s.fields(reflect.ValueOf(e).Elem()))
	}
}

// fields are the fields of a struct that are not zero.
func (s *script) fields(v reflect.Value) string {
	var b strings.Builder
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Name, v.Field(i)
		switch {
		case f.IsZero():
		case name == "ProcessKey":
			b.WriteString(" " + s.value(f))
		default:
			b.WriteString(" " + name + "=" + s.value(f))
		}
	}
	return b.String()
}

func (s *script) value(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case event.Time:
		return "+" + x.Sub(start).String()
	case ProcessKey:
		return x.Compute + "/" + x.ID
	case []Slot:
		var seats []string
		for _, seat := range x {
			seats = append(seats, s.labels[seat.ID]+" "+seat.PlayerID)
		}
		return "[" + strings.Join(seats, ", ") + "]"
	case *int32:
		return fmt.Sprint(*x)
	case string:
		if strings.Contains(x, " ") {
			return strconv.Quote(x)
		}
		return x
	case []byte:
		return fmt.Sprintf("%x", x)
	default:
		return fmt.Sprint(x)
	}
}
