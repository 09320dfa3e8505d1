package jetstream

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// helloSubject is what the subject of a greeting begins with; the node's name follows.
// Greetings are sent at every look, in the system account.
const helloSubject = "muster.hello."

// deaf is how long nothing is heard of a node before it counts as not heard. Busy nodes
// stand still for a while, and what follows is only an election.
const deaf = 1200 * time.Millisecond

// An ear knows who was heard of when, and whom those hear.
type ear struct {
	self string

	mu     sync.Mutex
	others map[string]greeting // by node
}

// A greeting is what a node has said last.
type greeting struct {
	at    time.Time
	hears []string // the nodes that it hears
}

func newEar(self string) *ear { return &ear{self: self, others: map[string]greeting{}} }

// hear takes a greeting.
func (e *ear) hear(subject string, data []byte, now time.Time) {
	node := strings.TrimPrefix(subject, helloSubject)
	if node == e.self {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.others[node] = greeting{now, strings.Fields(string(data))}
}

// hello is what this node says: whom it hears.
func (e *ear) hello(now time.Time) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	var heard []string
	for node, g := range e.others {
		if now.Sub(g.at) < deaf {
			heard = append(heard, node)
		}
	}
	return []byte(strings.Join(heard, " "))
}

// reaches are those of the connected nodes that hear this one and are heard.
func (e *ear) reaches(connected []string, now time.Time) (reached []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, node := range connected {
		if g := e.others[node]; now.Sub(g.at) < deaf && slices.Contains(g.hears, e.self) {
			reached = append(reached, node)
		}
	}
	return reached
}
