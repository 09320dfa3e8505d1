package sim

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/shard"
)

// A question is something that an actor asks a shard: a command, or a read.
type question struct {
	shard  int
	cmd    region.Command
	read   func(*region.Machine) // instead of a command; it must copy what it wants to keep
	room   uint32                // that the read looks at
	repeat bool                  // it may arrive more than once

	answered func(a any, err error) // once; err has errSilence, when nobody answered in time

	from     uint64 // what was durable when it was asked
	over     bool
	attempts int
}

// A reply is an owner's answer to one delivery of a question.
type reply struct {
	question *question
	answer   any
	err      error
	digest   uint64 // of what a read saw
}

// errSilence says that no answer came: nobody knows what has become of the question.
var errSilence = errors.New("no answer came")

// patience is how long an actor waits for an answer.
const patience = 12 * time.Second

// ask sends a question on its way.
func (w *world) ask(q *question) {
	q.from = w.shards[q.shard].mirror.seq
	w.deliverLater(q)
	if q.repeat && w.chance(w.rates.duplicate) {
		w.seen["duplicate"]++
		w.deliverLater(q)
	}
	w.in(patience, func(*world) { w.finish(q, nil, errSilence) })
}

// deliverLater lets a question travel: most arrive soon, some late, some never.
func (w *world) deliverLater(q *question) {
	if w.chance(w.rates.lost) {
		w.seen["lost message"]++
		return
	}
	w.in(w.latency(), func(*world) { w.deliver(q) })
}

// latency is how long a message travels.
func (w *world) latency() time.Duration {
	if w.chance(w.rates.late) {
		return w.between(0, 20*time.Second)
	}
	return w.between(0, 5*time.Millisecond)
}

// deliver gives a question to an owner, not always to the right one.
func (w *world) deliver(q *question) {
	o := w.route(q.shard)
	switch {
	case o == nil && q.attempts < 20:
		q.attempts++
		w.in(300*time.Millisecond, func(*world) { w.deliver(q) })
		return
	case o == nil:
		return
	case time.Now().Before(o.node.paused):
		w.at(o.node.paused, func(*world) { w.deliver(q) })
		return
	}
	r := &reply{question: q}
	give := func() { o.put(output{reply: r}) }
	if q.read != nil {
		o.runs.SubmitRead(func(m *machine) {
			r.digest = partDigest(m.Machine, q.room)
			q.read(m.Machine)
		}, func(err error) { r.err = err; give() })
		return
	}
	w.trace.add(w.step, "to owner %d of shard %d: %s", o.n, q.shard, described{q.cmd})
	o.runs.Submit(q.cmd, func(a any, err error) { r.answer, r.err = a, err; give() })
}

// route is who is believed to own a shard.
func (w *world) route(number int) *owner {
	holder := w.shards[number].holder
	if holder != nil && !w.chance(w.rates.misrouted) {
		return holder
	}
	for i := len(w.owners) - 1; i >= 0; i-- {
		if o := w.owners[i]; o != holder && o.shard.number == number && !o.dead && !o.ended {
			w.seen["to an old owner"]++
			return o
		}
	}
	return holder
}

// hear takes what an owner says.
func (w *world) hear(o *owner, out output) {
	switch {
	case out.broken != "":
		w.fail("owner %d of shard %d: %s", o.n, o.shard.number, out.broken)
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
		w.fail("owner %d of shard %d has committed record %d; %d is the newest that is stored", o.n, o.shard.number, c.Seq, mirror.seq)
		return
	}
	parts := map[uint32]bool{0: true, region.PlacementsRoom: true, region.MatchmakingRoom: true}
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
			w.fail("owner %d of shard %d: after record %d %s is not what the records say", o.n, o.shard.number, c.Seq, partName(room))
		}
	}
	if c.Recovered {
		w.seen["recovery"]++
		w.ledger.check(w, o.shard.number, c.View.Machine)
	}
}

// said holds an answer to what is stored, and sends it on its way.
func (w *world) said(o *owner, r *reply) {
	q := r.question
	mirror := o.shard.mirror
	switch {
	case q.read != nil && r.err == nil:
		w.seen["read"]++
		if !mirror.showed(q.room, r.digest, q.from) {
			w.fail("owner %d of shard %d answered a read of %s with a state that was not the state since record %d", o.n, o.shard.number, partName(q.room), q.from)
		}
	case q.cmd != nil && r.err == nil:
		w.acknowledged(q, r.answer)
	case q.cmd != nil && errors.Is(r.err, shard.ErrNotDone):
		w.refusedForGood(q)
	}
	w.trace.add(w.step, "owner %d of shard %d says: %s, %v", o.n, q.shard, brief{r.answer}, r.err)
	if w.chance(w.rates.lost) {
		w.seen["lost answer"]++
		return
	}
	w.in(w.latency(), func(*world) { w.finish(q, r.answer, r.err) })
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

// undecided reports whether an error leaves open what has happened, or says that
// nothing has and the same may work later.
func undecided(err error) bool {
	return errors.Is(err, errSilence) || errors.Is(err, shard.ErrNotDone) || errors.Is(err, shard.ErrOutcomeUnknown)
}
