package sim

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
)

// A question is something that an actor asks a shard, through any node: a command, or a read.
type question struct {
	shard  int
	cmd    region.Command
	read   func(*region.Machine) // instead of a command; it must copy what it wants to keep
	room   uint32                // that the read looks at
	repeat bool                  // it may be asked more than once

	answered func(a any, err error) // once; err has errSilence, when nobody answered in time

	over     bool
	attempts int
}

// A request is a question, or one of a driver, at a node.
type request struct {
	shard int
	cmd   region.Command
	read  func(*region.Machine)
	room  uint32
	twice bool // another one may ask for the same
	done  func(a any, err error)

	node    *node
	process string // of the node
	from    uint64 // what was durable when it was made
	number  uint64 // of the forwarded commands of the process for the shard
	served  bool   // an owner has it, or had it and did not refuse it
	refused bool   // it was said never to be carried out
	over    bool
}

// A reply is an owner's answer to one request.
type reply struct {
	request *request // nil: a barrier
	answer  any
	seq     uint64 // the newest record that the answer may have seen
	err     error
	digest  uint64 // of what a read saw
	give    func(*reply)
}

// errSilence says that no answer came: nobody knows what has become of the question.
var errSilence = errors.New("no answer came")

// patience is how long an actor waits for an answer.
const patience = 12 * time.Second

// ask sends a question on its way.
func (w *world) ask(q *question) {
	w.askSomeNode(q)
	if q.repeat && w.chance(2*w.rates.duplicate) {
		w.seen["duplicate"]++
		w.askSomeNode(q)
	}
	w.in(patience, func(*world) { w.finish(q, nil, errSilence) })
}

// askSomeNode lets a question travel to a node: most arrive soon, some late, some never.
func (w *world) askSomeNode(q *question) {
	if w.chance(w.rates.lost) {
		w.seen["lost message"]++
		return
	}
	w.in(w.latency(2*time.Millisecond), func(*world) {
		n := w.nodes[w.rng.IntN(len(w.nodes))]
		if !n.up() {
			if q.attempts++; q.attempts < 20 {
				w.askSomeNode(q)
			}
			return
		}
		r := &request{shard: q.shard, cmd: q.cmd, read: q.read, room: q.room, twice: q.repeat}
		r.done = func(a any, err error) {
			if w.chance(w.rates.lost) {
				w.seen["lost answer"]++
				return
			}
			w.in(w.latency(2*time.Millisecond), func(*world) { w.finish(q, a, err) })
		}
		n.do(func() { n.submit(r) })
	})
}

// latency is how long a message travels: at most this long, mostly.
func (w *world) latency(most time.Duration) time.Duration {
	if w.chance(w.rates.late) {
		return w.between(0, []time.Duration{time.Second, 20 * time.Second}[w.rng.IntN(2)])
	}
	return w.between(0, most)
}

// finish tells the actor, the first time.
func (w *world) finish(q *question, answer any, err error) {
	if !q.over {
		q.over = true
		if q.answered != nil {
			q.answered(answer, err)
		}
	}
}

// submit carries out a request here, or has it carried out by the owner, as package replica does.
func (n *node) submit(r *request) {
	r.node, r.process, r.from = n, n.process, n.world.shards[r.shard].mirror.seq
	n.open++
	o := n.owns[r.shard]
	if o == nil {
		n.send(r)
		return
	}
	here := func(a *reply) {
		if errors.Is(a.err, shard.ErrStopped) { // the next owner is asked
			n.send(r)
			return
		}
		n.end(r, a)
	}
	if r.cmd != nil {
		o.follow(r, here)
	} else {
		o.peek(r, here)
	}
}

// send has the owner of a shard carry out a command; a read waits for what the owner has.
func (n *node) send(r *request) {
	var err error
	n.step(func(now time.Duration) {
		if r.cmd == nil {
			err = n.forward.Ask(now, r.shard, func(seq uint64, err error) { n.end(r, &reply{seq: seq, err: err}) })
			return
		}
		n.sent[r.shard]++
		r.number = n.sent[r.shard]
		n.world.requests = append(n.world.requests, r)
		cmd := binary.AppendUvarint(nil, uint64(len(n.world.requests)-1))
		n.world.seen["forwarded"]++
		err = n.forward.Send(now, r.shard, cmd, func(answer []byte, err error) {
			if err != nil {
				n.end(r, &reply{err: err})
				return
			}
			n.end(r, n.world.replies[index(answer)])
		})
	})
	if err != nil {
		n.end(r, &reply{err: err})
	}
	n.watch()
}

// end is the outcome of a request at its node. It is handed on when the node has seen everything that the answer may
// have seen.
func (n *node) end(r *request, a *reply) {
	w := n.world
	if r.over {
		w.fail("node %d was answered twice: %s", n.name, described{r.cmd})
		return
	}
	r.over = true
	n.open--
	if w.bug.outcome != nil {
		a = w.bug.outcome(a)
	}
	switch {
	case r.cmd == nil && a.err == nil && a.seq < r.from:
		w.fail("node %d was answered a read with record %d, and record %d was stored before", n.name, a.seq, r.from)
	case r.cmd != nil && errors.Is(a.err, shard.ErrNotDone):
		if r.refused = true; r.served {
			w.fail("node %d was told that this will never be, and an owner has it: %s", n.name, described{r.cmd})
		}
		w.refusedForGood(r)
	case errors.Is(a.err, shard.ErrOutcomeUnknown):
		w.seen["unknown outcome"]++
	}
	w.shards[r.shard].await(a.seq, func() {
		if n.process != r.process {
			return
		}
		n.do(func() {
			if r.read != nil && a.err == nil && a.request == nil {
				r.read(w.shards[r.shard].follower)
			}
			r.done(a.answer, a.err)
		})
	})
}

// follow has the owner carry out a command, when everything else is at rest.
func (o *owner) follow(r *request, give func(*reply)) {
	o.asked = append(o.asked, func() {
		o.world.trace.add(o.world.step, "to %s: %s", o, described{r.cmd})
		o.runs.SubmitUnbounded(r.cmd, func(a any, err error) {
			o.put(output{reply: &reply{request: r, answer: a, seq: o.runs.Durable(), err: err, give: give}})
		})
	})
}

// peek carries out a read at the owner; r is nil for a barrier.
func (o *owner) peek(r *request, give func(*reply)) {
	a := &reply{request: r, give: give}
	read := func(m *machine) {
		if r != nil {
			a.digest = partDigest(m.Machine, r.room)
			r.read(m.Machine)
		}
	}
	o.asked = append(o.asked, func() {
		o.runs.SubmitRead(read, func(err error) {
			a.seq, a.err = o.runs.Durable(), err
			o.put(output{reply: a})
		})
	})
}

// passOn gives one owner one request: what a shard finds in its queue must not depend on when its goroutine looks.
func (w *world) passOn() bool {
	for _, o := range w.owners {
		if len(o.asked) > 0 && !o.dead && !o.node.idle() {
			ask := o.asked[0]
			o.asked = o.asked[1:]
			ask()
			return true
		}
	}
	return false
}

// hear takes what an owner says.
func (w *world) hear(o *owner, out output) {
	switch {
	case out.broken != "":
		w.fail("%s: %s", o, out.broken)
	case out.commit != nil:
		w.committed(o, out.commit)
	case out.ended:
		o.hasEnded(out.err)
	case out.reply != nil:
		w.said(o, out.reply)
	}
}

// committed holds the state of an owner to the mirror.
func (w *world) committed(o *owner, c *shard.Commit[*machine]) {
	mirror := o.shard.mirror
	if !c.HasView {
		return
	}
	if c.Seq > mirror.seq {
		w.fail("%s has committed record %d; %d is the newest that is stored", o, c.Seq, mirror.seq)
		return
	}
	parts := map[uint32]bool{region.PlacementsRoom: true, region.MatchmakingRoom: true}
	for _, f := range c.Facts {
		parts[f.Room] = true
	}
	if c.Recovered || w.chance(10) {
		for room := range mirror.parts {
			parts[room] = true
		}
	}
	for _, room := range slices.Sorted(maps.Keys(parts)) {
		if got, want := partDigest(c.View.Machine, room), mirror.at(room, c.Seq); got != want {
			w.fail("%s: after record %d %s is not what the records say", o, c.Seq, partName(room))
		}
	}
	if c.Recovered {
		w.seen["recovery"]++
		w.ledger.check(w, o.shard.number, c.View.Machine)
	}
}

// said holds an answer to what is stored, and sends it on its way.
func (w *world) said(o *owner, a *reply) {
	r, mirror := a.request, o.shard.mirror
	switch {
	case r == nil || a.err != nil:
	case r.read != nil:
		w.seen["read"]++
		if !mirror.showed(r.room, a.digest, r.from) {
			w.fail("%s answered a read of %s with a state that was not the state since record %d", o, partName(r.room),
				r.from)
		}
	default:
		w.acknowledged(r, a.answer)
	}
	w.trace.add(w.step, "%s says: %s, %v", o, brief{a.answer}, a.err)
	a.give(a)
}

// undecided reports whether an error leaves open what has happened, or says that
// nothing has and the same may work later.
func undecided(err error) bool {
	return errors.Is(err, errSilence) || errors.Is(err, shard.ErrNotDone) || errors.Is(err, shard.ErrOutcomeUnknown)
}
