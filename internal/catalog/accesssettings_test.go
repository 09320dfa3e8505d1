package catalog

import (
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestPutAccessSettings(t *testing.T) {
	put := func(epochs ...Epoch) PutAccessSettings { return PutAccessSettings{AccessSettings{Epochs: epochs}} }
	was := func(epochs ...Epoch) *AccessSettingsPut { return &AccessSettingsPut{AccessSettings{Epochs: epochs}} }
	first := Epoch{1, t0 - day, 0, []byte{1}}
	ended, over := first, first
	ended.Ends, over.Ends = t0+day, t0
	second, other := Epoch{2, t0, 0, []byte{2}}, Epoch{2, t0, 0, []byte{3}}
	conflict := func(name string, given, when []Epoch) scene {
		return scene{name: name, given: []Event{was(given...)}, when: put(when...), fault: fault.Conflict}
	}
	invalid := func(name string, epochs ...Epoch) scene {
		return scene{name: name, when: put(epochs...), fault: fault.InvalidRequest}
	}
	play(t, []scene{
		{name: "no passwords", when: PutAccessSettings{AccessSettings{LocalPasswordsOff: true}},
			then: []Event{&AccessSettingsPut{AccessSettings{LocalPasswordsOff: true}}}},
		{name: "the first epoch", when: put(first), then: []Event{was(first)}},
		{name: "the same", given: []Event{was(first)}, when: put(first)},
		{name: "the next epoch", given: []Event{was(first)}, when: put(ended, second), then: []Event{was(ended,
			second)}},
		{name: "the first one ends", when: put(Epoch{Ends: t0 + day}, first), then: []Event{was(Epoch{Ends: t0 + day},
			first)}},
		{name: "drop an ended one", given: []Event{was(over, second)}, when: put(second), then: []Event{was(second)}},
		{name: "end one at once", given: []Event{was(ended, second)}, when: put(over, second),
			then: []Event{was(over, second)}},
		conflict("another node was faster", []Epoch{ended, second}, []Epoch{ended, other}),
		conflict("drop a current one", []Epoch{first}, []Epoch{second}),
		conflict("drop one in use", []Epoch{ended, second}, []Epoch{second}),
		conflict("drop all", []Epoch{first}, nil),
		conflict("an ended one is current again", []Epoch{ended, second}, []Epoch{first}),
		invalid("no current one", ended),
		invalid("two current ones", first, second),
		invalid("the first with a key", Epoch{0, t0, 0, []byte{1}}),
		invalid("no key", Epoch{1, t0, 0, nil}),
		invalid("in another order", Epoch{2, t0, t0, []byte{1}}, first),
		invalid("too many", tooMany[Epoch]()...),
	})
	if a := New(smallLimits()).AccessSettings(); a.Epochs != nil || a.LocalPasswordsOff {
		t.Errorf("settings %+v", a)
	}
}
