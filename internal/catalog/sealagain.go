package catalog

import (
	"bytes"
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// SealAgain replaces the sealed secret of an access key or of a provider, if it is still From: nothing happens if it
// has changed, or if the record was deleted meanwhile. InvalidRequest without a secret, or if it names none or both.
type SealAgain struct {
	AccessKey string `cbor:"1,keyasint,omitzero"` // its ID
	Provider  string `cbor:"2,keyasint,omitzero"` // its name
	From      []byte `cbor:"3,keyasint,omitzero"`
	To        []byte `cbor:"4,keyasint,omitzero"`
}

// SealedAgain follows SealAgain.
type SealedAgain struct {
	AccessKey string `cbor:"1,keyasint,omitempty"`
	Provider  string `cbor:"2,keyasint,omitempty"`
	Sealed    []byte `cbor:"3,keyasint,omitempty"`
}

func (c SealAgain) decide(s *State, _ event.Time) ([]Event, error) {
	if (c.AccessKey == "") == (c.Provider == "") || len(c.From) == 0 || len(c.To) == 0 {
		return nil, fault.New(fault.InvalidRequest,
			"Name an access key or a provider, and its old and new sealed secret")
	}
	var sealed []byte
	if k, ok := s.accessKeys.Get(c.AccessKey); ok {
		sealed = k.SealedSecret
	} else if p, ok := s.providers.Get(c.Provider); ok {
		sealed = p.SealedSecret
	}
	if !bytes.Equal(sealed, c.From) || bytes.Equal(c.From, c.To) {
		return nil, nil
	}
	return []Event{&SealedAgain{AccessKey: c.AccessKey, Provider: c.Provider, Sealed: slices.Clone(c.To)}}, nil
}

func (e *SealedAgain) apply(s *State) {
	if old, ok := s.accessKeys.Get(e.AccessKey); ok {
		k := *old
		k.SealedSecret = e.Sealed
		s.putAccessKey(&k)
	}
	if old, ok := s.providers.Get(e.Provider); ok {
		p := *old
		p.SealedSecret = e.Sealed
		s.providers.Set(p.Name, &p)
	}
	s.changeVersion(e)
}
