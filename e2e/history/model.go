package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// A state is what a game session is after some operations. It is never changed: step gives a new one.
type state struct {
	status  Status // "": it does not exist
	maximum int32
	players []player // by id
}

type player struct {
	id     string
	status Status
}

func (p player) compare(q player) int { return strings.Compare(p.id, q.id) }

// seated reports whether the player takes a place.
func (p player) seated() bool { return p.status == Reserved || p.status == Active }

func (s state) current() (n int32) {
	for _, p := range s.players {
		if p.seated() {
			n++
		}
	}
	return n
}

func (s state) find(id string) (int, bool) {
	return slices.BinarySearchFunc(s.players, player{id: id}, player.compare)
}

// with is the state with a player's status, who may be new.
func (s state) with(id string, status Status) state {
	i, known := s.find(id)
	s.players = slices.Clone(s.players)
	if known {
		s.players[i].status = status
	} else {
		s.players = slices.Insert(s.players, i, player{id, status})
	}
	return s
}

// step is what an operation does, and whether a game session in this state could have answered as it did. One without
// an answer could always have been left undone.
func (s state) step(o Operation) (possible bool, next state) {
	next, fault := s.do(o)
	switch {
	case fault != "":
		next = s
	case o.Action == Describe:
		return o.Return == Pending || o.Fault == "" && o.Seen == Seen{s.status, s.current(), s.maximum}, s
	case o.Action == List:
		return o.Return == Pending || o.Fault == "" && s.has(o.Present), s
	}
	return o.Return == Pending || o.Fault == fault || o.Fault != "" && fault == anyFault, next
}

func (s state) has(present map[string]Status) bool {
	if len(present) != len(s.players) {
		return false
	}
	for _, p := range s.players {
		if present[p.id] != p.status {
			return false
		}
	}
	return true
}

// The faults that operations are refused with. Those of game servers' requests are not told apart.
const (
	notFound    = "NotFoundException"
	noCapacity  = "FleetCapacityExceededException"
	wrongStatus = "InvalidGameSessionStatusException"
	full        = "GameSessionFullException"
	anyFault    = "a refusal"
)

// do is the state after an operation, or the fault that it is refused with.
func (s state) do(o Operation) (state, string) {
	switch {
	case o.Action == Create:
		return s.create(o)
	case s.status == "":
		return s, s.absent(o)
	}
	switch o.Action {
	case Terminate:
		return s.terminate()
	case Reserve:
		return s.reserve(o.Players)
	case Activate:
		return s.activate()
	case Accept:
		return s.accept(o.Players[0])
	case Remove:
		return s.remove(o.Players[0])
	case End:
		return s.end(), ""
	}
	return s, ""
}

// absent is the fault of a game session that does not exist.
func (s state) absent(o Operation) string {
	switch o.Action {
	case Activate, Accept, Remove, End:
		return anyFault
	}
	return notFound
}

// create makes the game session. Repeated it changes nothing. For one that does not exist there may be no process;
// which the history of one game session does not say.
func (s state) create(o Operation) (state, string) {
	switch {
	case s.status != "":
		return s, ""
	case o.Fault == noCapacity:
		return s, noCapacity
	}
	return state{status: Activating, maximum: o.Maximum}, ""
}

func (s state) terminate() (state, string) {
	if s.status == Terminated {
		return s, wrongStatus
	}
	s.status = Terminating
	return s, ""
}

func (s state) reserve(players []string) (state, string) {
	switch {
	case s.status != Active:
		return s, wrongStatus
	case s.current()+int32(len(players)) > s.maximum:
		return s, full
	}
	for _, id := range players {
		s = s.with(id, Reserved)
	}
	return s, ""
}

func (s state) activate() (state, string) {
	if s.status != Activating && s.status != Active {
		return s, anyFault
	}
	s.status = Active
	return s, ""
}

func (s state) accept(id string) (state, string) {
	i, known := s.find(id)
	if s.status != Active && s.status != Terminating || !known || !s.players[i].seated() {
		return s, anyFault
	}
	return s.with(id, Active), ""
}

func (s state) remove(id string) (state, string) {
	i, known := s.find(id)
	if s.status == Terminated || !known {
		return s, anyFault
	}
	if s.players[i].seated() {
		s = s.with(id, Completed)
	}
	return s, ""
}

// end is the end of the process: who is still there has left, who never came is late.
func (s state) end() state {
	if s.status == Terminated {
		return s
	}
	s.status, s.players = Terminated, slices.Clone(s.players)
	for i := range s.players {
		switch p := &s.players[i]; p.status {
		case Reserved:
			p.status = TimedOut
		case Active:
			p.status = Completed
		}
	}
	return s
}

// model is that of one game session, for porcupine. The input is the whole Operation.
var model = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(s, in, _ any) (bool, any) { return s.(state).step(in.(Operation)) },
	Equal: func(a, b any) bool {
		s, t := a.(state), b.(state)
		return s.status == t.status && s.maximum == t.maximum && slices.Equal(s.players, t.players)
	},
	DescribeOperation: func(in, _ any) string { return in.(Operation).String() },
	DescribeState:     func(s any) string { return s.(state).String() },
}

// String describes the operation and its answer.
func (o Operation) String() string {
	var answer string
	switch {
	case o.Return == Pending:
		answer = "no answer"
	case o.Fault != "":
		answer = o.Fault
	case o.Action == Describe:
		answer = fmt.Sprintf("%s %d/%d", cmp.Or(o.Seen.Status, "none"), o.Seen.Current, o.Seen.Maximum)
	case o.Action == List:
		var all []string
		for _, id := range slices.Sorted(maps.Keys(o.Present)) {
			all = append(all, id+" "+string(o.Present[id]))
		}
		answer = "{" + strings.Join(all, ", ") + "}"
	default:
		answer = "ok"
	}
	return fmt.Sprintf("%s(%s) at %s: %s", o.Action, strings.Join(o.Players, ", "), cmp.Or(o.Node, "?"), answer)
}

// String describes the state.
func (s state) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d/%d", cmp.Or(s.status, "none"), s.current(), s.maximum)
	for _, p := range s.players {
		fmt.Fprintf(&b, ", %s %s", p.id, p.status)
	}
	return b.String()
}
