package catalog

import (
	"bytes"
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// AccessSettings are settings of the whole region.
type AccessSettings struct {
	LocalPasswordsOff bool    `cbor:"1,keyasint,omitempty"` // people sign in by providers alone
	Epochs            []Epoch `cbor:"2,keyasint,omitempty"` // ascending by number; the last one is current
}

// An Epoch is a time in which tokens are sealed under one secret. The catalog stores it as sealed by the caller.
type Epoch struct {
	// 0: that of the secret which the region begins with, without a key here; also current if there are no epochs
	Number    uint32     `cbor:"1,keyasint,omitempty"`
	Created   event.Time `cbor:"2,keyasint,omitempty"`
	Ends      event.Time `cbor:"3,keyasint,omitempty"` // its tokens are accepted until then; 0: current
	SealedKey []byte     `cbor:"4,keyasint,omitempty"` // read-only
}

// PutAccessSettings replaces the settings. InvalidRequest; Conflict if the change of an epoch comes too late: if an
// epoch has another key, ends again, or is missing before its end.
type PutAccessSettings struct{ AccessSettings }

// AccessSettingsPut follows PutAccessSettings; it holds all settings.
type AccessSettingsPut struct{ AccessSettings }

func (c PutAccessSettings) decide(s *State, now event.Time) ([]Event, error) {
	settings := AccessSettings{LocalPasswordsOff: c.LocalPasswordsOff, Epochs: listOf(c.Epochs)}
	for i := range settings.Epochs {
		settings.Epochs[i].SealedKey = listOf(settings.Epochs[i].SealedKey)
	}
	if err := settings.check(); err != nil {
		return nil, err
	}
	for _, old := range s.AccessSettings().Epochs {
		if !settings.keeps(old, now) {
			return nil, fault.New(fault.Conflict, "Epoch %d has changed meanwhile, or is in use. Read the settings "+
				"again.", old.Number)
		}
	}
	if same(s.settings, settings) {
		return nil, nil
	}
	return []Event{&AccessSettingsPut{settings}}, nil
}

func (a AccessSettings) check() error {
	if err := checkListed("Epochs", len(a.Epochs)); err != nil {
		return err
	}
	for i, e := range a.Epochs {
		current := i == len(a.Epochs)-1
		if i > 0 && e.Number <= a.Epochs[i-1].Number || (len(e.SealedKey) == 0) != (e.Number == 0) ||
			current != (e.Ends == 0) {
			return fault.New(fault.InvalidRequest,
				"Epochs must have ascending numbers, keys from number 1 on, and all "+
					"but the last one an end")
		}
	}
	return nil
}

// keeps reports whether the settings may follow those with an epoch: two nodes that begin the next epoch at once must
// not both succeed.
func (a AccessSettings) keeps(old Epoch, now event.Time) bool {
	i := slices.IndexFunc(a.Epochs, func(e Epoch) bool { return e.Number == old.Number })
	if i < 0 {
		return old.Ends != 0 && old.Ends <= now
	}
	e := a.Epochs[i]
	return bytes.Equal(e.SealedKey, old.SealedKey) && e.Created == old.Created && (old.Ends == 0 || e.Ends != 0)
}

func (e *AccessSettingsPut) apply(s *State) {
	s.settings = &e.AccessSettings
	s.changeVersion(e)
}

// AccessSettings returns the settings, zero if none were put.
func (s *State) AccessSettings() AccessSettings {
	if s.settings == nil {
		return AccessSettings{}
	}
	return *s.settings
}
