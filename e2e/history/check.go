package history

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// A Verdict is the outcome of a check.
type Verdict struct {
	Sessions   int // how many game sessions there were
	Operations int
	Pending    int // of the operations, those without an answer
	Longest    int // the most operations of one game session
}

// A Violation is a game session whose history is not linearizable.
type Violation struct {
	Session string
	File    string // HTML that shows it; "" if it could not be written
}

// Error names the game session and the file.
func (v *Violation) Error() string {
	return fmt.Sprintf("the history of game session %s is not linearizable; see file://%s", v.Session, v.File)
}

// ErrUndecided is for a game session whose history was too much to decide within the limit.
var ErrUndecided = errors.New("too long to decide")

// Check checks every game session, each for at most the limit. The error joins *Violation and ErrUndecided for each
// that is not linearizable or not decided. What shows a violation is written into the system's directory of temporary
// files, where it stays.
func Check(all []Operation, limit time.Duration) (Verdict, error) {
	sessions := BySession(all)
	v := Verdict{Sessions: len(sessions), Operations: len(all)}
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(sessions)) {
		operations := sessions[id]
		v.Longest = max(v.Longest, len(operations))
		for _, o := range operations {
			if o.Return == Pending {
				v.Pending++
			}
		}
		errs = append(errs, checkSession(id, operations, limit))
	}
	return v, errors.Join(errs...)
}

func checkSession(id string, operations []Operation, limit time.Duration) error {
	history := lanes(operations)
	switch porcupine.CheckOperationsTimeout(model, history, limit) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("game session %s, %d operations: %w", id, len(operations), ErrUndecided)
	}
	file, err := show(history, limit)
	return errors.Join(&Violation{id, file}, err)
}

// show writes what shows a history into a file.
func show(history []porcupine.Operation, limit time.Duration) (path string, err error) {
	f, err := os.CreateTemp("", "muster-history-*.html")
	if err != nil {
		return "", err
	}
	_, info := porcupine.CheckOperationsVerbose(model, history, limit)
	return f.Name(), errors.Join(porcupine.Visualize(model, info, f), f.Close())
}

// lanes gives porcupine the operations, each in the first lane of the picture that is free.
func lanes(operations []Operation) []porcupine.Operation {
	operations = slices.DeleteFunc(slices.Clone(operations), func(o Operation) bool {
		return o.Return == Pending && (o.Action == Describe || o.Action == List) // says nothing and does nothing
	})
	slices.SortStableFunc(operations, func(a, b Operation) int { return int(a.Call - b.Call) })
	var free []time.Duration // since when each lane is
	history := make([]porcupine.Operation, len(operations))
	for i, o := range operations {
		lane := slices.IndexFunc(free, func(since time.Duration) bool { return since < o.Call })
		if lane < 0 {
			lane = len(free)
			free = append(free, 0)
		}
		free[lane] = o.Return
		history[i] = porcupine.Operation{ClientId: lane, Input: o, Call: int64(o.Call), Return: int64(o.Return)}
	}
	return history
}
