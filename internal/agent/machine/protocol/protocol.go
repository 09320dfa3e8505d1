// Package protocol is the messages between a service and the machine agents of its region, over a WebSocket at Path.
// Each frame is one JSON object whose "type" names the message.
//
// The service begins with a Challenge. The machine answers with a Join, which has a signature of SignedText, and a join
// token the first time. The service answers with Wanted, the whole state that it wants of the machine, or with Refused,
// and closes the socket. From then on the machine sends an Observed whenever its state changes, and at least each
// ReportInterval, and the service sends a Wanted whenever that has changed. No message is a request to do something
// once: each has a whole state, so that a lost one is repaired by the next, and a new socket begins from nothing.
//
// A receiver ignores unknown fields and types.
package protocol

import (
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Path is the path of the socket, below that of the service's public URL.
const Path = "/agent/machine"

const (
	// ReportInterval is the longest time between two reports of a machine.
	ReportInterval = 10 * time.Second
	// LostAfter is the time without a report after which a machine is lost, and either side closes the socket.
	LostAfter = 30 * time.Second
)

const (
	// MaxFromMachine is the maximum size of a message of a machine in bytes.
	MaxFromMachine = 16 << 10
	// MaxFromService is the maximum size of a message of the service in bytes.
	MaxFromService = 1 << 20
	// NonceSize is the length of a nonce in bytes.
	NonceSize = 32

	maxName    = 128 // bytes of names, tokens and ids
	maxOffered = 256 // bytes of a text of an offer
	maxLoad    = 1 << 20
	maxFreeMiB = 1 << 40
	maxSeconds = 3600 // of an interval

	signedPrefix = "muster machine join 1" // of SignedText
)

// A Challenge is the first message of the service.
type Challenge struct {
	Nonce  []byte `json:"nonce"`  // NonceSize random bytes, for this socket alone
	Region string `json:"region"` // the id of the region, which differs from that of any other region
}

// A Join is the answer to a Challenge.
type Join struct {
	Name      string `json:"name"`
	Location  string `json:"location,omitempty"` // "": that of the token, or where the machine has joined
	PublicKey []byte `json:"publicKey"`
	Signature []byte `json:"signature"`       // of SignedText
	Token     string `json:"token,omitempty"` // "": the machine has joined
	Offer     Offer  `json:"offer"`
}

// An Offer is what a machine offers, and what it is.
type Offer struct {
	MilliCPUs int32  `json:"milliCpus"` // thousandths of a CPU
	MemoryMiB int64  `json:"memoryMiB"`
	IP        string `json:"ip,omitempty"`
	DNS       string `json:"dns,omitempty"`
	PortFirst int32  `json:"portFirst,omitempty"`
	PortLast  int32  `json:"portLast,omitempty"`
	Version   string `json:"version,omitempty"`
	OS        string `json:"os,omitempty"`
	Arch      string `json:"arch,omitempty"`
}

// Wanted is what the service wants of a machine: all of it, each time. A machine ignores one with a lower Generation
// than it has seen.
type Wanted struct {
	Generation uint64 `json:"generation"`
	Drain      bool   `json:"drain"` // the machine must not begin anything new
	// Instances are those that the machine has to run.
	Instances []Instance `json:"instances"`

	ReportSeconds int `json:"reportSeconds"` // see ReportInterval
	LostSeconds   int `json:"lostSeconds"`   // see LostAfter
}

// An Instance is a part of a machine that runs the server processes of one fleet.
type Instance struct {
	ID string `json:"id"`
}

// Observed is the state of a machine: all of it, each time.
type Observed struct {
	Generation    uint64   `json:"generation"` // of the Wanted that the machine acts on
	Offer         Offer    `json:"offer"`
	Load          *float64 `json:"load,omitempty"`          // average of running threads in a minute; nil: unknown
	FreeMemoryMiB *int64   `json:"freeMemoryMiB,omitempty"` // nil: unknown
}

// Refused is the last message of the service before it closes the socket.
type Refused struct {
	Error   string `json:"error"` // the name of the exception
	Message string `json:"message"`
	Final   bool   `json:"final"` // the same join will be refused again
}

// ErrUnknown is in the error chain for a message of a type that this release does not know.
var ErrUnknown = errors.New("unknown type of message")

// SignedText returns what a machine signs. It names the region, so that a signature for one region is of no use in
// another one, and the nonce, so that it is of no use for another socket.
func SignedText(c Challenge, name string) []byte {
	text := []byte(signedPrefix)
	for _, part := range [][]byte{c.Nonce, []byte(c.Region), []byte(name)} {
		text = binary.BigEndian.AppendUint32(text, uint32(len(part))) //nolint:gosec // at most a message
		text = append(text, part...)
	}
	return text
}

// Verify reports whether the join is signed by its key for a challenge.
func (j *Join) Verify(c Challenge) bool {
	return ed25519.Verify(j.PublicKey, SignedText(c, j.Name), j.Signature)
}

// Encode returns a message, which is a pointer to one of the types above.
func Encode(message any) []byte {
	switch message.(type) {
	case *Challenge:
		return encode("challenge", message)
	case *Join:
		return encode("join", message)
	case *Wanted:
		return encode("wanted", message)
	case *Observed:
		return encode("observed", message)
	case *Refused:
		return encode("refused", message)
	}
	panic(fmt.Sprintf("%T is no message", message))
}

func encode(name string, message any) []byte {
	body, err := json.Marshal(message)
	if err != nil {
		panic(err) // only for numbers that are not finite, which are not sent
	}
	return append([]byte(`{"type":"`+name+`",`), body[1:]...)
}

// DecodeFromMachine reads a message of a machine: a *Join or an *Observed.
func DecodeFromMachine(data []byte) (message any, err error) {
	switch name, err := typeOf(data); {
	case err != nil:
		return nil, err
	case name == "join":
		return decode(data, (*Join).check)
	case name == "observed":
		return decode(data, (*Observed).check)
	}
	return nil, ErrUnknown
}

// DecodeFromService reads a message of a service: a *Challenge, a *Wanted or a *Refused.
func DecodeFromService(data []byte) (message any, err error) {
	switch name, err := typeOf(data); {
	case err != nil:
		return nil, err
	case name == "challenge":
		return decode(data, (*Challenge).check)
	case name == "wanted":
		return decode(data, (*Wanted).check)
	case name == "refused":
		return decode(data, func(*Refused) error { return nil })
	}
	return nil, ErrUnknown
}

func typeOf(data []byte) (string, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return "", fmt.Errorf("decode a message: %w", err)
	}
	return head.Type, nil
}

func decode[M any](data []byte, check func(*M) error) (any, error) {
	m := new(M)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("decode a message: %w", err)
	}
	if err := check(m); err != nil {
		return nil, err
	}
	return m, nil
}

func (c *Challenge) check() error {
	if len(c.Nonce) != NonceSize || c.Region == "" || len(c.Region) > maxName {
		return fmt.Errorf("a challenge needs a nonce of %d bytes and a region", NonceSize)
	}
	return nil
}

func (j *Join) check() error {
	switch {
	case j.Name == "" || len(j.Name) > maxName || len(j.Location) > maxName || len(j.Token) > maxName:
		return fmt.Errorf("name, location and token may have at most %d bytes, and name is required", maxName)
	case len(j.PublicKey) != ed25519.PublicKeySize || len(j.Signature) != ed25519.SignatureSize:
		return errors.New("publicKey and signature must be of ed25519")
	}
	return j.Offer.check()
}

func (o *Offer) check() error {
	for _, text := range []string{o.IP, o.DNS, o.Version, o.OS, o.Arch} {
		if len(text) > maxOffered {
			return fmt.Errorf("a text of the offer has more than %d bytes", maxOffered)
		}
	}
	return nil
}

func (w *Wanted) check() error {
	if w.ReportSeconds < 1 || w.LostSeconds < w.ReportSeconds || w.LostSeconds > maxSeconds {
		return fmt.Errorf("reportSeconds and lostSeconds must be between 1 and %d, and the second not the shorter one",
			maxSeconds)
	}
	return nil
}

func (o *Observed) check() error {
	if o.Load != nil && (*o.Load < 0 || *o.Load > maxLoad) {
		return fmt.Errorf("load must be between 0 and %d", maxLoad)
	}
	if o.FreeMemoryMiB != nil && (*o.FreeMemoryMiB < 0 || *o.FreeMemoryMiB > maxFreeMiB) {
		return fmt.Errorf("freeMemoryMiB must be between 0 and %d", maxFreeMiB)
	}
	return o.Offer.check()
}
