package matcher

// A trial is a match that grows and shrinks while the search tries tickets in it.
type trial struct {
	pool     *Pool
	level    *level
	teams    []team
	tickets  []assigned // in the order of joining
	players  int
	backfill bool // it has a backfill ticket
	silent   bool // evaluations are not counted
	atLevel  int  // tickets whose age has the level; a match needs one

	open    []int    // rules that did not hold when last evaluated, but may
	nested  []nested // scratch of expressions
	items   []int32
	floats  []float64
	strings []int32
	lists   []nested
	marks   marks
}

// A team holds the columns of its players, in the order of joining.
type team struct {
	players int
	numbers [][]float64
	texts   [][]int32
	lists   [][]nested
	ids     []int32
}

// An assigned ticket has its team; a backfill ticket has entry.teamOf instead.
type assigned struct {
	*entry
	team int
}

func newTrial(p *Pool) *trial {
	t := &trial{pool: p, teams: make([]team, len(p.set.Teams))}
	for i := range t.teams {
		t.teams[i] = team{
			numbers: make([][]float64, len(p.columns.numbers)),
			texts:   make([][]int32, len(p.columns.texts)),
			lists:   make([][]nested, len(p.columns.lists)),
		}
	}
	return t
}

// clear empties the trial for a search at a level.
func (t *trial) clear(l *level) {
	for len(t.tickets) > 0 {
		t.drop()
	}
	t.level = l
	t.atLevel = 0
}

// sizes returns the team sizes for the present tickets.
func (t *trial) sizes() []size { return t.level.of(t.backfill) }

// fits reports whether the slots of a backfill ticket's players are free.
func (t *trial) fits(e *entry) bool {
	if t.backfill {
		return false
	}
	for i := range t.teams {
		if t.teams[i].players+e.assigned[i] > t.level.full[i].max {
			return false
		}
	}
	return true
}

// add adds a ticket to a team, or a backfill ticket's players to theirs.
func (t *trial) add(e *entry, team int) {
	t.tickets = append(t.tickets, assigned{e, team})
	t.players += e.players()
	if t.pool.levels[e.level] == t.level {
		t.atLevel++
	}
	if !e.ticket.Backfill {
		t.teams[team].add(e, 0, e.players())
		return
	}
	t.backfill = true
	for i, assign := range e.teamOf {
		t.teams[assign].add(e, i, i+1)
	}
}

// drop removes the ticket that joined last.
func (t *trial) drop() {
	last := len(t.tickets) - 1
	e := t.tickets[last]
	t.tickets = t.tickets[:last]
	t.players -= e.players()
	if t.pool.levels[e.level] == t.level {
		t.atLevel--
	}
	if !e.ticket.Backfill {
		t.teams[e.team].drop(e.players())
		return
	}
	t.backfill = false
	for _, assign := range e.teamOf {
		t.teams[assign].drop(1)
	}
}

// add appends the players of an entry from one index to another.
func (m *team) add(e *entry, from, to int) {
	m.players += to - from
	for c := range m.numbers {
		m.numbers[c] = append(m.numbers[c], e.numbers[c][from:to]...)
	}
	for c := range m.texts {
		m.texts[c] = append(m.texts[c], e.texts[c][from:to]...)
	}
	for c := range m.lists {
		for _, list := range e.lists[c][from:to] {
			m.lists[c] = append(m.lists[c], nested{items: list})
		}
	}
	if e.ids != nil {
		m.ids = append(m.ids, e.ids[from:to]...)
	}
}

func (m *team) drop(n int) {
	m.players -= n
	for c := range m.numbers {
		m.numbers[c] = m.numbers[c][:m.players]
	}
	for c := range m.texts {
		m.texts[c] = m.texts[c][:m.players]
	}
	for c := range m.lists {
		m.lists[c] = m.lists[c][:m.players]
	}
	if m.ids != nil {
		m.ids = m.ids[:m.players]
	}
}

// missing returns how many players the teams lack to have their minimum.
func (t *trial) missing() int {
	n := 0
	for i, s := range t.sizes() {
		n += max(0, s.min-t.teams[i].players)
	}
	return n
}

// complete reports whether the tickets are a match, apart from the rules.
func (t *trial) complete() bool {
	if t.atLevel == 0 || t.backfill && len(t.tickets) < 2 {
		return false
	}
	for i, s := range t.sizes() {
		if n := t.teams[i].players; n < s.min || n > s.max {
			return false
		}
	}
	return true
}
