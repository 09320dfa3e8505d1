package shard_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The machine of these tests keeps named counters, and alarms that ring once.

type (
	added struct {
		Name string `cbor:"1,keyasint"`
		N    int    `cbor:"2,keyasint"`
		Pad  []byte `cbor:"3,keyasint,omitempty"`
	}
	alarmSet struct {
		Name string     `cbor:"1,keyasint"`
		At   event.Time `cbor:"2,keyasint"`
	}
	rang struct {
		Name string `cbor:"1,keyasint"`
	}
	owned   struct{}
	counter struct {
		Name string `cbor:"1,keyasint"`
		N    int    `cbor:"2,keyasint"`
	}
	paused struct {
		By time.Duration `cbor:"1,keyasint"`
	}
	unnumbered struct{}
)

var events = event.NewSet([]event.Entry{
	{Number: 1, Type: (*added)(nil)},
	{Number: 2, Type: (*alarmSet)(nil)},
	{Number: 3, Type: (*rang)(nil)},
	{Number: 4, Type: (*owned)(nil)},
	{Number: 5, Type: (*counter)(nil)},
	{Number: 6, Type: (*paused)(nil)},
})

// A command of the toy machine; exactly one field but Name and N is set.
type command struct {
	Name   string
	N      int           // is added to Name; the answer is the sum. Odd sums below zero are refused.
	Times  int           // in so many facts; default 1
	Pad    int           // with so many useless bytes each
	Alarm  time.Duration // sets an alarm instead
	Panic  bool
	Secret bool // gives a fact that nobody has numbered
}

type alarm struct {
	at   event.Time
	name string
}

type toy struct {
	counters *btree.Map[string, int]
	alarms   *btree.BTreeG[alarm]
	rings    *btree.Map[string, int]
	owners   int
	stuck    bool // Expire does nothing
	silent   bool // Recovered has nothing to say
}

func newToy() *toy {
	return &toy{
		counters: new(btree.Map[string, int]), rings: new(btree.Map[string, int]),
		alarms: btree.NewBTreeGOptions(func(a, b alarm) bool {
			return a.at < b.at || a.at == b.at && a.name < b.name
		}, btree.Options{NoLocks: true}),
	}
}

func (m *toy) Handle(now time.Time, c command) ([]event.Fact, any, error) {
	switch {
	case c.Panic:
		m.counters.Set("half", 1) // a change that nobody wrote down
		panic("the machine is broken")
	case c.Secret:
		return []event.Fact{{Body: &unnumbered{}}}, nil, nil
	case c.Alarm > 0:
		return m.do(&alarmSet{Name: c.Name, At: event.At(now.Add(c.Alarm))}), nil, nil
	}
	n, _ := m.counters.Get(c.Name)
	if n+c.N < 0 {
		return nil, nil, fault.New(fault.InvalidRequest, "%s is %d", c.Name, n)
	}
	if c.N == 0 {
		return nil, n, nil
	}
	var facts []event.Fact
	for range max(1, c.Times) {
		facts = append(facts, m.do(&added{Name: c.Name, N: c.N, Pad: make([]byte, c.Pad)})...)
	}
	n, _ = m.counters.Get(c.Name)
	return facts, n, nil
}

func (m *toy) do(body any) []event.Fact {
	f := event.Fact{Body: body}
	m.Apply(f)
	return []event.Fact{f}
}

func (m *toy) Apply(f event.Fact) {
	switch b := f.Body.(type) {
	case *added:
		n, _ := m.counters.Get(b.Name)
		m.counters.Set(b.Name, n+b.N)
	case *alarmSet:
		m.alarms.Set(alarm{b.At, b.Name})
	case *rang:
		first, _ := m.alarms.PopMin()
		n, _ := m.rings.Get(first.name)
		m.rings.Set(first.name, n+1)
	case *owned:
		m.owners++
	case *paused:
		old := m.alarms.Items()
		m.alarms.Clear()
		for _, a := range old {
			m.alarms.Set(alarm{a.at.Add(b.By), a.name})
		}
	case *counter:
		m.counters.Set(b.Name, b.N)
	}
}

func (m *toy) Deadline() time.Time {
	first, ok := m.alarms.Min()
	if !ok {
		return time.Time{}
	}
	return first.at.Time()
}

func (m *toy) Expire(now time.Time) (facts []event.Fact) {
	for range 2 {
		first, ok := m.alarms.Min()
		if !ok || first.at > event.At(now) || m.stuck {
			break
		}
		facts = append(facts, m.do(&rang{first.name})...)
	}
	return facts
}

func (m *toy) Freeze() *toy {
	return &toy{counters: m.counters.Copy(), alarms: m.alarms.Copy(), rings: m.rings.Copy(), owners: m.owners}
}

func (m *toy) Snapshot(write func(event.Fact) error) (err error) {
	put := func(body any) bool {
		err = write(event.Fact{Body: body})
		return err == nil
	}
	m.counters.Scan(func(name string, n int) bool { return put(&counter{name, n}) })
	m.alarms.Scan(func(a alarm) bool { return err == nil && put(&alarmSet{a.name, a.at}) })
	m.rings.Scan(func(name string, n int) bool { return err == nil && put(&counter{"\x00" + name, n}) })
	for range m.owners {
		if err == nil {
			put(&owned{})
		}
	}
	return err
}

func (m *toy) Restore(f event.Fact) error {
	if c, ok := f.Body.(*counter); ok && c.Name != "" && c.Name[0] == 0 {
		m.rings.Set(c.Name[1:], c.N)
		return nil
	}
	m.Apply(f)
	return nil
}

func (m *toy) Recovered(time.Time) []event.Fact {
	if m.silent {
		return nil
	}
	return m.do(&owned{})
}

func (m *toy) Paused(_ time.Time, by time.Duration) []event.Fact {
	if m.alarms.Len() == 0 {
		return nil
	}
	return m.do(&paused{by})
}

// bytes is the whole state, without the number of its owners.
func (m *toy) bytes() []byte {
	var buf bytes.Buffer
	c := *m
	c.owners = 0
	if err := c.Snapshot(func(f event.Fact) error { return events.Append(&buf, f) }); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

func (m *toy) get(name string) int {
	n, _ := m.counters.Get(name)
	return n
}

func (m *toy) String() string {
	var all []string
	m.counters.Scan(func(name string, n int) bool { all = append(all, fmt.Sprintf("%s=%d", name, n)); return true })
	return fmt.Sprint(slices.Sorted(slices.Values(all)))
}

var errInjected = errors.New("injected")

func isNotDone(err error) bool { return errors.Is(err, shard.ErrNotDone) }
