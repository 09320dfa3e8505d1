package catalog

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"strings"
	"unicode"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// MachineLevel is the feature level from which the catalog holds machines.
const MachineLevel = 9

// Bounds of machines: our choice, far above real ones.
const (
	maxMachineName   = 128
	maxMilliCPUs     = 4_096_000
	maxMemoryMiB     = 1 << 26 // 64 TiB
	maxMachineText   = 64      // bytes of a version, a system and an architecture
	maxDNSName       = 253     // Source: RFC 1035 section 2.3.4
	maxTokenDays     = 30
	maxGeneration    = 1 << 53 // more changes than a machine can have, and exact in JSON
	machineKeySize   = 32      // bytes of an ed25519 public key. Source: RFC 8032 section 5.1.5
	machineTokenText = "mt-"   // begins the ids of join tokens
)

// A Machine is a host that runs the machine agent at a location. Its name is unique in the region. Whether it is
// connected is not stored.
type Machine struct {
	Name     string       `cbor:"1,keyasint,omitempty"`
	Location string       `cbor:"2,keyasint,omitempty"` // a custom location, or the code of a Region
	Key      []byte       `cbor:"3,keyasint,omitempty"` // its ed25519 public key
	Offer    MachineOffer `cbor:"4,keyasint,omitempty"`
	Drained  bool         `cbor:"5,keyasint,omitempty"`
	Joined   event.Time   `cbor:"6,keyasint,omitempty"`
	// Generation counts the changes of what the service wants of the machine, from 1. It only rises.
	Generation uint64 `cbor:"7,keyasint,omitempty"`
}

// A MachineOffer is what a machine offers, and what it is.
type MachineOffer struct {
	MilliCPUs int32  `cbor:"1,keyasint,omitempty"` // thousandths of a CPU
	MemoryMiB int64  `cbor:"2,keyasint,omitempty"`
	IP        string `cbor:"3,keyasint,omitempty"` // players connect to IP or DNS; one may be ""
	DNS       string `cbor:"4,keyasint,omitempty"`
	PortFirst int32  `cbor:"5,keyasint,omitempty"` // the range of ports for games; 0 for both: none is set
	PortLast  int32  `cbor:"6,keyasint,omitempty"`
	Version   string `cbor:"7,keyasint,omitempty"`  // of the agent
	OS        string `cbor:"8,keyasint,omitempty"`  // as GOOS
	Arch      string `cbor:"9,keyasint,omitempty"`  // as GOARCH
	Instances string `cbor:"10,keyasint,omitempty"` // the directory of its instances
}

// A MachineToken lets one machine join a location. It holds only the hash of the token.
type MachineToken struct {
	ID       string     `cbor:"1,keyasint,omitempty"` // MachineTokenID of Hash
	Hash     []byte     `cbor:"2,keyasint,omitempty"` // the SHA-256 of the token
	Location string     `cbor:"3,keyasint,omitempty"`
	Created  event.Time `cbor:"4,keyasint,omitempty"`
	Expires  event.Time `cbor:"5,keyasint,omitempty"`
}

// MachineTokenID returns the id of the token with a hash. The id is not secret.
func MachineTokenID(hash []byte) string {
	return machineTokenText + hex.EncodeToString(hash[:min(8, len(hash))])
}

// CreateMachineToken stores a token. InvalidRequest, NotFound for the location, LimitExceeded.
type CreateMachineToken struct {
	Hash     []byte     `cbor:"1,keyasint,omitzero"`
	Location string     `cbor:"2,keyasint,omitzero"` // a custom location, or a Region code that the caller has checked
	Expires  event.Time `cbor:"3,keyasint,omitzero"`
}

// DeleteMachineToken revokes a token that was not used. NotFound.
type DeleteMachineToken struct {
	ID string `cbor:"1,keyasint,omitzero"`
}

// JoinMachine adds a machine with a token, which cannot be used again, or stores another offer of a machine that has
// joined with this key; that needs no token. It raises the generation of one that acts on a newer one: the region was
// restored from a backup then, and the machine ignores older generations. NotReady while a deleted machine with the
// name has instances; AccessDenied for another key and for a token that is unknown, used, expired or of another
// location; Conflict for another location of a machine that has joined; InvalidRequest, LimitExceeded.
type JoinMachine struct {
	Name     string       `cbor:"1,keyasint,omitzero"`
	Location string       `cbor:"2,keyasint,omitzero"` // "": that of the token, or of the machine that has joined
	Key      []byte       `cbor:"3,keyasint,omitzero"`
	Offer    MachineOffer `cbor:"4,keyasint,omitzero"`
	Token    []byte       `cbor:"5,keyasint,omitzero"` // the SHA-256 of the token; nil: none
	// Generation is that of the state that the machine acts on; 0: not known.
	Generation uint64 `cbor:"6,keyasint,omitzero"`
}

// DrainMachine drains a machine, or ends that. NotFound.
type DrainMachine struct {
	Name    string `cbor:"1,keyasint,omitzero"`
	Drained bool   `cbor:"2,keyasint,omitzero"`
}

// DeleteMachine deletes a machine that is drained or lost. NotFound; Conflict if it is neither.
type DeleteMachine struct {
	Name string `cbor:"1,keyasint,omitzero"`
	Lost bool   `cbor:"2,keyasint,omitzero"` // the caller has no connection to it
}

// MachineTokenPut follows CreateMachineToken.
type MachineTokenPut struct{ MachineToken }

// MachineTokenDeleted follows DeleteMachineToken and the end of a token.
type MachineTokenDeleted struct {
	ID string `cbor:"1,keyasint,omitempty"`
}

// MachinePut follows JoinMachine; it holds the whole machine.
type MachinePut struct {
	Machine
	Token string `cbor:"101,keyasint,omitempty"` // the id of the token that was used, which it deletes; "": none
}

// MachineDrainSet follows DrainMachine.
type MachineDrainSet struct {
	Name       string `cbor:"1,keyasint,omitempty"`
	Drained    bool   `cbor:"2,keyasint,omitempty"`
	Generation uint64 `cbor:"3,keyasint,omitempty"` // of the machine, from now on
}

// MachineDeleted follows DeleteMachine.
type MachineDeleted struct {
	Name string `cbor:"1,keyasint,omitempty"`
}

func (c CreateMachineToken) decide(s *State, now event.Time) ([]Event, error) {
	if len(c.Hash) != hashLength {
		return nil, fault.New(fault.InvalidRequest, "Hash must be a SHA-256")
	}
	if c.Expires <= now || c.Expires > now+maxTokenDays*24*3600*1000 {
		return nil, fault.New(fault.InvalidRequest, "expires must be within the next %d days", maxTokenDays)
	}
	if err := s.checkMachineLocation(c.Location); err != nil {
		return nil, err
	}
	t := MachineToken{MachineTokenID(c.Hash), c.Hash, c.Location, now, c.Expires}
	if _, exists := s.machineTokens.Get(t.ID); exists {
		return nil, fault.New(fault.Conflict, "Token %s exists", t.ID)
	}
	if err := checkLimit(s.machineTokens.Len(), s.limits.MachineTokens, "join tokens"); err != nil {
		return nil, err
	}
	return []Event{&MachineTokenPut{t}}, nil
}

// checkMachineLocation rejects a custom location that does not exist. The caller checks other names.
func (s *State) checkMachineLocation(name string) error {
	if _, ok := s.locations.Get(name); !ok && strings.HasPrefix(name, customPrefix) {
		return locationNotFound(name)
	}
	if name == "" || len(name) > maxMachineText {
		return fault.New(fault.InvalidRequest, "location must have 1 to %d bytes", maxMachineText)
	}
	return nil
}

func (c DeleteMachineToken) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.machineTokens.Get(c.ID); !ok {
		return nil, fault.New(fault.NotFound, "There is no join token %.100s", c.ID)
	}
	return []Event{&MachineTokenDeleted{c.ID}}, nil
}

func (c JoinMachine) decide(s *State, now event.Time) ([]Event, error) {
	m := Machine{Name: c.Name, Location: c.Location, Key: c.Key, Offer: c.Offer, Joined: now, Generation: 1}
	if err := m.check(); err != nil {
		return nil, err
	}
	if old, ok := s.machines.Get(c.Name); ok {
		return m.again(old, c.Generation)
	}
	t, ok := s.machineTokens.Get(MachineTokenID(c.Token))
	switch {
	case len(s.InstancesOf(c.Name)) > 0: // they are on the one that was deleted, and must not begin on another one
		return nil, fault.New(fault.NotReady, "Machine %s was deleted, and its instances have not ended yet", c.Name)
	case len(c.Token) == 0:
		return nil, fault.New(fault.AccessDenied, "Machine %s has not joined. Start it with a join token.", m.Name)
	case !ok || !bytes.Equal(t.Hash, c.Token) || t.Expires <= now:
		return nil, fault.New(fault.AccessDenied, "The join token is not valid: it was used or revoked, or has "+
			"expired. Create another one.")
	case m.Location != "" && m.Location != t.Location:
		return nil, fault.New(fault.AccessDenied, "The join token is not for location %s", m.Location)
	}
	m.Location = t.Location
	if err := s.checkMachineLocation(m.Location); err != nil {
		return nil, err
	}
	if err := checkLimit(s.machines.Len(), s.limits.Machines, "machines"); err != nil {
		return nil, err
	}
	return []Event{&MachinePut{Machine: m, Token: t.ID}}, nil
}

// again returns the events for a machine that has joined as old, and acts on a generation.
func (m Machine) again(old *Machine, generation uint64) ([]Event, error) {
	switch {
	case !bytes.Equal(m.Key, old.Key):
		return nil, fault.New(fault.AccessDenied, "Machine %s has joined with another key. Choose another name, or "+
			"delete that machine first.", m.Name)
	case m.Location != "" && m.Location != old.Location:
		return nil, fault.New(fault.Conflict, "Machine %s is at location %s. Drain and delete it before it joins "+
			"another one.", m.Name, old.Location)
	case generation > maxGeneration:
		return nil, fault.New(fault.InvalidRequest, "the generation must be at most %d", uint64(maxGeneration))
	case m.Offer == old.Offer && generation <= old.Generation:
		return nil, nil
	}
	m.Location, m.Drained, m.Joined, m.Generation = old.Location, old.Drained, old.Joined, old.Generation
	if generation > old.Generation {
		m.Generation = generation + 1
	}
	return []Event{&MachinePut{Machine: m}}, nil
}

// check rejects a machine that is invalid in any state.
func (m *Machine) check() error {
	if err := CheckMachineName(m.Name); err != nil {
		return err
	}
	if len(m.Key) != machineKeySize {
		return fault.New(fault.InvalidRequest, "the key must be an ed25519 public key of %d bytes",
			machineKeySize)
	}
	return m.Offer.check()
}

// CheckMachineName rejects a name that no machine can have.
func CheckMachineName(name string) error {
	valid := func(r rune) bool {
		return r <= unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_.-", r))
	}
	if name == "" || len(name) > maxMachineName || strings.Trim(name, ".") == "" ||
		strings.ContainsFunc(name, func(r rune) bool { return !valid(r) }) {
		return fault.New(fault.InvalidRequest, "The name of a machine must have 1 to %d letters, digits or characters "+
			"of _.- and not only stops", maxMachineName)
	}
	return nil
}

func (o *MachineOffer) check() error {
	switch {
	case o.MilliCPUs < 1 || o.MilliCPUs > maxMilliCPUs:
		return fault.New(fault.InvalidRequest, "cpus must be between 0.001 and %d", maxMilliCPUs/1000)
	case o.MemoryMiB < 1 || o.MemoryMiB > maxMemoryMiB:
		return fault.New(fault.InvalidRequest, "memory must be between 1 and %d MiB", maxMemoryMiB)
	case (o.PortFirst != 0 || o.PortLast != 0) &&
		(o.PortFirst < 1 || o.PortFirst > o.PortLast || o.PortLast > 65535):
		return fault.New(fault.InvalidRequest, "the port range must be FIRST-LAST within 1-65535")
	}
	return o.checkTexts()
}

func (o *MachineOffer) checkTexts() error {
	if o.IP != "" {
		if _, err := netip.ParseAddr(o.IP); err != nil || len(o.IP) > maxMachineText {
			return fault.New(fault.InvalidRequest, "ip must be an IP address")
		}
	}
	for _, t := range []struct {
		field, value string
		most         int
	}{{"dns", o.DNS, maxDNSName}, {"version", o.Version, maxMachineText}, {"os", o.OS, maxMachineText},
		{"arch", o.Arch, maxMachineText}} {
		if len(t.value) > t.most || strings.ContainsFunc(t.value, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fault.New(fault.InvalidRequest, "%s must have at most %d visible ASCII characters", t.field, t.most)
		}
	}
	return nil
}

func (c DrainMachine) decide(s *State, _ event.Time) ([]Event, error) {
	m, ok := s.machines.Get(c.Name)
	if !ok {
		return nil, machineNotFound(c.Name)
	}
	if m.Drained == c.Drained {
		return nil, nil
	}
	return []Event{&MachineDrainSet{c.Name, c.Drained, m.Generation + 1}}, nil
}

func (c DeleteMachine) decide(s *State, _ event.Time) ([]Event, error) {
	m, ok := s.machines.Get(c.Name)
	switch {
	case !ok:
		return nil, machineNotFound(c.Name)
	case !m.Drained && !c.Lost:
		return nil, fault.New(fault.Conflict, "Machine %s is neither drained nor lost. Drain it first.", c.Name)
	}
	return []Event{&MachineDeleted{c.Name}}, nil
}

func machineNotFound(name string) error {
	return fault.New(fault.NotFound, "Machine %.200s not found", name)
}

func (e *MachineTokenPut) apply(s *State) { s.putMachineToken(&e.MachineToken) }

func (e *MachineTokenDeleted) apply(s *State) { s.deleteMachineToken(e.ID) }

func (e *MachinePut) apply(s *State) {
	s.deleteMachineToken(e.Token)
	s.machines.Set(e.Name, &e.Machine)
}

func (e *MachineDrainSet) apply(s *State) {
	if old, ok := s.machines.Get(e.Name); ok {
		m := *old
		m.Drained, m.Generation = e.Drained, e.Generation
		s.machines.Set(e.Name, &m)
	}
}

func (e *MachineDeleted) apply(s *State) { s.machines.Delete(e.Name) }

func (s *State) putMachineToken(t *MachineToken) {
	s.deleteMachineToken(t.ID)
	s.machineTokens.Set(t.ID, t)
	s.dues.Set(due(t.Expires, dueMachineToken, t.ID), struct{}{})
}

func (s *State) deleteMachineToken(id string) {
	if old, ok := s.machineTokens.Delete(id); ok {
		s.dues.Delete(due(old.Expires, dueMachineToken, id))
	}
}

// Machine finds a machine.
func (s *State) Machine(name string) (*Machine, bool) { return s.machines.Get(name) }

// Machines returns the machines by name.
func (s *State) Machines() []*Machine { return s.machines.Values() }

// MachineTokens returns the join tokens that were not used, by id.
func (s *State) MachineTokens() []*MachineToken { return s.machineTokens.Values() }
