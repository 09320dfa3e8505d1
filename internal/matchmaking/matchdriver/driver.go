package matchdriver

import (
	"errors"
	"fmt"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Config is what the machines cannot decide by themselves. Makers call its functions beside the Driver.
type Config struct {
	Shards          int // of the region
	Region, Account string
	NewID           func() string                   // of a match: a UUID
	Random          func(b []byte)                  // fills b: for ids that cannot be guessed, and for searches
	Changed         func(ticket string)             // is called when a ticket has changed; it must be quick
	Failed          func(request string, err error) // is called when a request failed; most are repeated

	// RuleSet returns the rule set of a configuration in a view of the catalog. It is pure, so it may remember its
	// results.
	RuleSet func(*catalog.State, *catalog.MatchmakingConfiguration) (*ruleset.Set, error)
}

// retryAfter is the time from a request that failed to the next attempt.
const retryAfter = time.Second

// A Driver drives the tickets and matches of a region. Between Begin and End it acts; otherwise it does nothing. Its
// methods, and the Answers of its requests, are called by one goroutine at a time, each after SetNow; after each of
// them the caller carries out Requests.
type Driver struct {
	cfg  Config
	now  event.Time
	term int // counts Begin and End: answers of an earlier term have no effect

	active     bool                   // between Begin and End
	recovered  bool                   // the tickets are known
	catalog    *catalog.State         // the newest view
	changed    bool                   // the catalog has changed, or there is a new Maker, since Review
	tickets    map[string]*seeker     // those that have not ended
	matches    map[string][]string    // the tickets of those that have not ended
	configured map[string]*configured // by the id of the configuration
	jobs       map[jobKey]*job
	sessions   map[sessionKey]string // game sessions that have or had a backfill ticket, until they end: their ARNs
	ends       []uint64              // by shard: counts what may be the end of a game session
	retries    []retry               // in the order of their time
	requests   []Request
}

// A seeker is a ticket that has not ended. It never changes.
type seeker struct {
	id            string
	configuration matchmaking.Configuration
	players       []matchmaking.Player
	backfill      bool
	session       string // that a backfill ticket is for: its ARN
	started       event.Time
	round         int
}

// A configured is a matchmaking configuration with its Maker.
type configured struct {
	maker *Maker
	seen  *catalog.MatchmakingConfiguration // that the Maker knows of
	news  News
	told  bool // a Request says that there are News
}

// A sessionKey names a game session of a shard.
type sessionKey struct {
	shard   int
	room    uint32
	ordinal uint64
}

// A retry is something to do again at a time.
type retry struct {
	at event.Time
	do func()
}

// A Request asks for one thing: exactly one of the fields besides Shard and Answer is set. Answer, if set, is called
// once with the result, never before the call that made the request has returned.
type Request struct {
	Shard   int
	Command region.Command          // to be carried out; never refused because a queue is full
	Read    func(m *region.Machine) // is called with the state of the shard, and must be quick
	Work    func()                  // takes processor time: is called outside of the Driver, by any goroutine
	Past    string                  // the id of a placement, looked up in the history; it answers as Place, or nil
	Place   *Placement              // to be started, or found if it was; the answer is a *placement.Placement
	Notice  *Notice                 // to a server process; it has no answer
	Maker   *Maker                  // has News; it has no answer
	// To Command, Past and Place; only the error matters to Read, and neither to Work.
	Answer func(answer any, err error)
}

// A Placement is that of a match.
type Placement struct {
	Queue   *catalog.Queue
	Request placement.Request
}

// A Notice tells the server process of a game session what became of its backfill ticket.
type Notice struct {
	Room        fleet.RoomID
	GameSession *fleet.GameSession
	Ticket      string // its id; "" if it is unknown
	Reason      string // as the server SDKs know it
}

// New returns a Driver that does not act yet.
func New(cfg Config) *Driver {
	d := &Driver{cfg: cfg}
	d.reset(false)
	return d
}

// SetNow sets the time of the steps that follow.
func (d *Driver) SetNow(now event.Time) { d.now = now }

// Begin makes the Driver act from now on. The catalog must have been set. It knows no ticket until Recover.
func (d *Driver) Begin() { d.reset(true) }

// End forgets everything. Answers that are still under way have no effect, and the Makers have ended.
func (d *Driver) End() { d.reset(false) }

func (d *Driver) reset(active bool) {
	ended := sorted(d.configured)
	d.term++
	d.active, d.recovered, d.changed = active, false, false
	d.tickets, d.matches = map[string]*seeker{}, map[string][]string{}
	d.configured, d.jobs = map[string]*configured{}, map[jobKey]*job{}
	d.sessions, d.ends = map[sessionKey]string{}, make([]uint64, d.cfg.Shards)
	d.retries, d.requests = nil, nil
	for _, c := range ended {
		d.requests = append(d.requests, Request{Maker: c.maker}) // News reports that it has ended
	}
}

// Requests appends what is to be asked for to list, and forgets it.
func (d *Driver) Requests(list []Request) []Request {
	list = append(list, d.requests...)
	if cap(d.requests) > keptRequests {
		d.requests = nil
	}
	clear(d.requests)
	d.requests = d.requests[:0]
	return list
}

// keptRequests is the capacity up to which the list of requests is used again.
const keptRequests = 64

// Due reports when Review has something to do: at once (0), at a time, or not (ok false).
func (d *Driver) Due() (at event.Time, ok bool) {
	switch {
	case d.changed:
		return 0, true
	case len(d.retries) > 0:
		return d.retries[0].at, true
	}
	return 0, false
}

// Review does what no fact and no answer triggers: it follows the catalog, and repeats requests that failed.
func (d *Driver) Review() {
	if d.changed {
		d.changed = false
		d.reviewConfigurations()
	}
	for len(d.retries) > 0 && d.retries[0].at <= d.now {
		first := d.retries[0]
		d.retries = d.retries[1:]
		first.do()
	}
}

// SetCatalog takes a new view of the catalog. Review looks at what follows from it.
func (d *Driver) SetCatalog(view *catalog.State) { d.catalog, d.changed = view, d.active }

// reviewConfigurations follows changes of configurations and rule sets. The tickets of configurations that were deleted
// end.
func (d *Driver) reviewConfigurations() {
	for _, c := range sorted(d.configured) {
		found, ok := d.configuration(c.maker.configuration)
		switch {
		case !ok:
			delete(d.configured, c.maker.configuration.ID)
			d.refuse(c)
			d.tell(matchmaking.Discard{Configuration: c.maker.configuration}, nil)
		case found != c.seen: // a rule set in use stays as it is
			c.seen = found
			d.news(c).catalog = d.catalog
		}
	}
}

// configuration finds a configuration that is still the one of that id.
func (d *Driver) configuration(c matchmaking.Configuration) (*catalog.MatchmakingConfiguration, bool) {
	found, ok := d.catalog.MatchmakingConfiguration(c.Name)
	return found, ok && found.ID == c.ID
}

// refuse ends the Maker of a configuration that was deleted.
func (d *Driver) refuse(c *configured) {
	for _, q := range c.news.questions {
		q.answer(matcher.Explanation{}, notMatched(c.maker.configuration))
	}
	d.news(c) // reports that it has ended
}

// of returns the configuration of a ticket, and makes its Maker on first use. If the configuration was deleted, Review
// ends it.
func (d *Driver) of(c matchmaking.Configuration) *configured {
	known, ok := d.configured[c.ID]
	if !ok {
		known = &configured{maker: newMaker(&d.cfg, c), news: News{catalog: d.catalog}}
		if known.seen, ok = d.configuration(c); !ok {
			d.changed = true
		}
		d.configured[c.ID] = known
	}
	return known
}

// news returns what the Maker of a configuration has not seen yet, to be added to.
func (d *Driver) news(c *configured) *News {
	if !c.told {
		c.told = true
		d.requests = append(d.requests, Request{Maker: c.maker})
	}
	return &c.news
}

// News takes what a Maker has not seen yet; ok is false if the Maker has ended.
func (d *Driver) News(k *Maker) (n News, ok bool) {
	c := d.configured[k.configuration.ID]
	if c == nil || c.maker != k {
		return News{}, false
	}
	n, c.news, c.told = c.news, News{}, false
	return n, true
}

// Proposed takes the answer to a proposal of a Maker, after the facts that it led to.
func (d *Driver) Proposed(k *Maker, tickets []matchmaking.Proposed, err error) {
	if c := d.configured[k.configuration.ID]; c != nil && c.maker == k {
		n := d.news(c)
		n.settled = append(n.settled, settled{tickets, err})
	}
}

// Explain asks why a ticket of a configuration waits. The answer comes once, from any goroutine that runs the Driver or
// the Maker: ErrUnanswered if the tickets are not known yet. It may not come if the Driver ends first.
func (d *Driver) Explain(ticket, configuration string, answer func(matcher.Explanation, error)) {
	c := d.configured[configuration]
	switch {
	case !d.recovered:
		answer(matcher.Explanation{}, ErrUnanswered)
		return
	case c == nil:
		answer(matcher.Explanation{},
			fault.New(fault.InvalidRequest, "The configuration of matchmaking ticket %s was deleted", ticket))
		return
	}
	n := d.news(c)
	n.questions = append(n.questions, question{ticket, answer})
}

// ErrUnanswered is in the chain of an Answer's error if the outcome of the request is unknown, or it did not arrive.
var ErrUnanswered = errors.New("the shard has failed")

// passing reports whether an error says nothing about the request itself, so that the same may work a little later.
func passing(err error) bool {
	// A command whose events fit in no record would break the shard each time.
	return errors.Is(err, ErrUnanswered) && !fault.Is(err, fault.InvalidRequest)
}

// ask makes a request. Its answer has no effect after the term.
func (d *Driver) ask(r Request, answered func(answer any, err error)) {
	term := d.term
	r.Answer = func(answer any, err error) {
		if d.term == term {
			answered(answer, err)
		}
	}
	d.requests = append(d.requests, r)
}

// retry does something again a little later.
func (d *Driver) retry(do func()) { d.retries = append(d.retries, retry{d.now.Add(retryAfter), do}) }

// tell reports to the machine of the tickets what has happened, until it has answered; then it calls done, if set.
func (d *Driver) tell(c matchmaking.Command, done func()) {
	r := Request{Shard: region.MatchmakingShard(d.cfg.Shards), Command: region.MatchmakingCommand{Command: c}}
	d.ask(r, func(answer any, err error) {
		if err != nil {
			d.cfg.Failed(fmt.Sprintf("%T", c), err)
		}
		_, discards := c.(matchmaking.Discard)
		switch {
		case passing(err):
			d.retry(func() { d.tell(c, done) })
		case err == nil && discards && answer == true: // it has ended only some of them
			d.tell(c, done)
		case done != nil:
			done()
		}
	})
}

// Idle reports whether nothing is under way besides tickets that search, and their Makers.
func (d *Driver) Idle() bool {
	return len(d.jobs) == 0 && len(d.retries) == 0 && len(d.requests) == 0 && !d.changed
}
