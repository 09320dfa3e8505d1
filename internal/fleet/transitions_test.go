package fleet

import "fmt"

// statuses are the statuses of all records of a Room, by what the record is.
// A record that is not there has the status "".
type statuses map[string]string

func statusesOf(r *Room) statuses {
	s := statuses{}
	eachProcess(r, func(p *Process) bool {
		s["process "+p.Compute+" "+p.ID] = [...]string{"", "INITIALIZING", "IDLE", "HOSTING", "ENDED"}[p.Status]
		return true
	})
	eachSession(r, func(g *GameSession) bool {
		s["game session "+fmt.Sprint(g.Ordinal, g.ID, g.Host, g.Created)] = string(g.Status)
		for _, p := range g.PlayerSessions() {
			s["player session "+fmt.Sprint(g.Ordinal, p.ID, p.Index, p.PlayerID, p.Created)] = string("player " +
				p.Status)
		}
		return true
	})
	return s
}

// transitions are the ways that a status may go in one step.
var transitions = map[string][]string{
	// ENDED: a process that its agent could not start, by ExitProcess
	"":             {"INITIALIZING", "ENDED", "ACTIVATING", "player RESERVED"},
	"INITIALIZING": {"IDLE", "HOSTING", "ENDED"}, // HOSTING: it was requested with its game session
	"IDLE":         {"HOSTING", "ENDED"},
	"HOSTING":      {"IDLE", "ENDED"}, // IDLE after ReleaseProcess
	"ENDED":        {"INITIALIZING", ""},

	"ACTIVATING":  {"ACTIVE", "TERMINATING", "TERMINATED"},
	"ACTIVE":      {"TERMINATING", "TERMINATED"},
	"TERMINATING": {"TERMINATED"},
	"TERMINATED":  {""},

	"player RESERVED":  {"player ACTIVE", "player COMPLETED", "player TIMEDOUT"},
	"player ACTIVE":    {"player COMPLETED"},
	"player COMPLETED": {""},
	"player TIMEDOUT":  {""},
}

// allow fails when a record went from s to after in a way that none may go.
func (s statuses) allow(after statuses) error {
	for what, from := range s {
		if err := allow(what, from, after[what]); err != nil {
			return err
		}
	}
	for what, to := range after {
		if err := allow(what, s[what], to); err != nil {
			return err
		}
	}
	return nil
}

func allow(what, from, to string) error {
	if from == to {
		return nil
	}
	for _, next := range transitions[from] {
		if next == to {
			return nil
		}
	}
	return fmt.Errorf("%s went from %q to %q", what, from, to)
}
