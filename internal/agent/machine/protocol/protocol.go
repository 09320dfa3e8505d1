// Package protocol is the messages between a service and the machine agents of its region, over a WebSocket at Path.
// Each frame is one JSON object whose "type" names the message.
//
// The service begins with a Challenge. The machine answers with a Join, which has a signature of SignedText, and a join
// token the first time. The service answers with Wanted, the whole state that it wants of the machine, or with Refused,
// and closes the socket. From then on the machine sends an Observed whenever its state changes, and at least each
// ReportInterval, and the service sends a Wanted whenever that has changed. No message is a request to do something
// once: each has a whole state, so that a lost one is repaired by the next, and a new socket begins from nothing.
//
// Beside these states the machine sends a TokenRequest for each instance when it needs the token of its compute, which
// the service answers with a Token. Either may be lost: the machine sends the request again.
//
// A receiver ignores unknown fields and types.
package protocol

import (
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	MaxFromMachine = 1 << 20
	// MaxFromService is the maximum size of a message of the service in bytes.
	MaxFromService = 4 << 20
	// MaxInstances is the maximum number of instances on a machine.
	MaxInstances = 400
	// NonceSize is the length of a nonce in bytes.
	NonceSize = 32

	maxName    = 128 // bytes of names, tokens and ids
	maxOffered = 256 // bytes of a text of an offer
	maxLoad    = 1 << 20
	maxFreeMiB = 1 << 40
	maxSeconds = 3600 // of an interval
	maxText    = 512  // bytes of the message of a failure

	maxCertificateRequest = 8 << 10 // bytes

	maxProcesses = 1000 // of an instance, those that end included
	// MaxVersions is the maximum number of elements of Instance.Versions.
	MaxVersions = 20
	// MaxOutdated is the maximum number of ids in InstanceState.Outdated.
	MaxOutdated = 50

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
	// Instances is the directory with one for each instance, by its id, in which its certificate is below certificate.
	Instances string `json:"instances,omitempty"`
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

// An Instance is a part of a machine that runs the server processes of one fleet. It is the compute of the fleet with
// the same name. A machine ends an instance that is not wanted any more, and its processes.
type Instance struct {
	ID        string    `json:"id"`
	Fleet     string    `json:"fleet"`
	Build     Build     `json:"build"`
	Versions  []Build   `json:"versions,omitempty"`  // further builds, of which the service requests processes
	Runtime   []Process `json:"runtime"`             // to be checked first; its agent reads it anew
	MilliCPUs int32     `json:"milliCpus,omitempty"` // its share of the machine; 0: unlimited
	MemoryMiB int64     `json:"memoryMiB,omitempty"` // its limit; 0: none
	// Ends reports that the instance must end: it begins no process, asks those that run to end, and is Ended then.
	Ends bool `json:"ends,omitempty"`
	// LogPath is where the machine puts the output of the installation by HTTP, below the service's URL. It contains
	// the permission to do so.
	LogPath string `json:"logPath,omitempty"`
	// Certificate reports that the instance needs a certificate, which its machine gets by a TokenRequest.
	Certificate bool `json:"certificate,omitempty"`
	// Role is the ARN of the role whose keys the game servers of the instance get, and which its machine gets by a
	// TokenRequest; "": none. RoleFile has them in a file, else they are served.
	Role     string `json:"role,omitempty"`
	RoleFile bool   `json:"roleFile,omitempty"`
}

// A Build is the content of an instance's directory.
type Build struct {
	ID     string `json:"id"`
	SHA256 string `json:"sha256"`         // of the zip, in hexadecimal
	Tree   string `json:"tree,omitempty"` // hash of paths, modes and contents: builds with one tree are equal
	Size   int64  `json:"size"`           // of the zip in bytes
	// Path is where the machine gets the zip by HTTP, below the service's URL. It contains the permission to do so.
	Path string `json:"path"`
}

// A Process is an entry of a runtime configuration.
type Process struct {
	LaunchPath string `json:"launchPath"`
	Parameters string `json:"parameters,omitempty"`
	Count      int32  `json:"count"`
}

// Observed is the state of a machine: all of it, each time.
type Observed struct {
	Generation    uint64   `json:"generation"` // of the Wanted that the machine acts on
	Offer         Offer    `json:"offer"`
	Load          *float64 `json:"load,omitempty"`          // average of running threads in a minute; nil: unknown
	FreeMemoryMiB *int64   `json:"freeMemoryMiB,omitempty"` // nil: unknown
	// Instances are those that the machine has, wanted or not.
	Instances []InstanceState `json:"instances,omitzero"`
}

// A Stage is how far an instance has come.
type Stage string

// The stages, in this order. A machine need not report each of them.
const (
	Waiting     Stage = "WAITING"     // for something that Failure names, such as a port
	Downloading Stage = "DOWNLOADING" // the build
	Extracting  Stage = "EXTRACTING"
	Installing  Stage = "INSTALLING" // runs install.sh or install.bat
	Validating  Stage = "VALIDATING" // the launch paths
	Building    Stage = "BUILDING"   // its directory
	Running     Stage = "RUNNING"    // its agent starts processes
	Failed      Stage = "FAILED"     // for good, by Failure: it has no process
	Ended       Stage = "ENDED"      // it has no process, and nothing is left of it
)

// An InstanceState is the state of an instance.
type InstanceState struct {
	ID        string `json:"id"`
	Stage     Stage  `json:"stage"`
	Build     string `json:"build,omitempty"`     // the id of the build that it has
	Installed bool   `json:"installed,omitempty"` // the build has an installer, which has ended well on this machine
	Processes int    `json:"processes,omitempty"`
	// Failure is that of Waiting and Failed; of Running a crash loop, or why another build could not replace Build.
	Failure *Failure `json:"failure,omitempty"`
	// Outdated are ids of processes that run, and were started from an earlier build than Build. Further ones may
	// follow in later reports.
	Outdated []string `json:"outdated,omitempty"`
	// Versions are those of Instance.Versions that are ready or have failed.
	Versions []VersionState `json:"versions,omitempty"`
}

// A VersionState is the state of a build besides that of an instance.
type VersionState struct {
	Build   string   `json:"build"`             // its id
	Failure *Failure `json:"failure,omitempty"` // nil: processes can be started from it
}

// A Failure is why an instance has failed or waits.
type Failure struct {
	Code    string `json:"code"` // the code of a fleet event
	Message string `json:"message"`
}

// A TokenRequest asks for the token of an instance's compute, for its certificate, and for keys of its role.
type TokenRequest struct {
	Instance string `json:"instance"`
	// CertificateRequest is a certificate request (PKCS #10) in DER form; nil: no certificate is needed. The service
	// decides about the names.
	CertificateRequest []byte `json:"certificateRequest,omitempty"`
	RoleKeys           bool   `json:"roleKeys,omitempty"` // keys of the instance's role are needed
}

// A Token is the answer to a TokenRequest. An Error is an answer that may be another one later.
type Token struct {
	Instance string `json:"instance"`
	Token    string `json:"token,omitempty"`
	Expires  int64  `json:"expires,omitempty"` // Unix time in milliseconds
	SDK      string `json:"sdk,omitempty"`     // WebSocket URL for game servers
	Agent    string `json:"agent,omitempty"`   // WebSocket URL for the agent of the instance
	Error    string `json:"error,omitempty"`   // "": none

	// Certificate and Root answer a CertificateRequest, with those of instance and CA in PEM form.
	Certificate string `json:"certificate,omitempty"`
	Root        string `json:"root,omitempty"`

	RoleKeys *RoleKeys `json:"roleKeys,omitempty"` // nil: they were not requested
}

// RoleKeys are temporary keys of the role of an instance.
type RoleKeys struct {
	AccessKeyID     string `json:"accessKeyId"`
	SecretAccessKey string `json:"secretAccessKey"`
	SessionToken    string `json:"sessionToken"`
	Expires         int64  `json:"expires"` // Unix time in milliseconds
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
	case *TokenRequest:
		return encode("tokenRequest", message)
	case *Token:
		return encode("token", message)
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

// DecodeFromMachine reads a message of a machine: a *Join, an *Observed or a *TokenRequest.
func DecodeFromMachine(data []byte) (message any, err error) {
	switch name, err := typeOf(data); {
	case err != nil:
		return nil, err
	case name == "join":
		return decode(data, (*Join).check)
	case name == "observed":
		return decode(data, (*Observed).check)
	case name == "tokenRequest":
		return decode(data, (*TokenRequest).check)
	}
	return nil, ErrUnknown
}

// DecodeFromService reads a message of a service: a *Challenge, a *Wanted, a *Token or a *Refused.
func DecodeFromService(data []byte) (message any, err error) {
	switch name, err := typeOf(data); {
	case err != nil:
		return nil, err
	case name == "challenge":
		return decode(data, (*Challenge).check)
	case name == "wanted":
		return decode(data, (*Wanted).check)
	case name == "token":
		return decode(data, func(*Token) error { return nil })
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
	for _, text := range []string{o.IP, o.DNS, o.Version, o.OS, o.Arch, o.Instances} {
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
	if len(w.Instances) > MaxInstances {
		return fmt.Errorf("a machine can have at most %d instances", MaxInstances)
	}
	return nil
}

func (r *TokenRequest) check() error {
	if r.Instance == "" || len(r.Instance) > maxName {
		return fmt.Errorf("instance must have 1 to %d bytes", maxName)
	}
	if len(r.CertificateRequest) > maxCertificateRequest {
		return fmt.Errorf("certificateRequest may have at most %d bytes", maxCertificateRequest)
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
	if len(o.Instances) > 2*MaxInstances { // those that end may have successors
		return fmt.Errorf("a machine can have at most %d instances", MaxInstances)
	}
	for i := range o.Instances {
		if err := o.Instances[i].check(); err != nil {
			return err
		}
	}
	return o.Offer.check()
}

func (s *InstanceState) check() error {
	switch s.Stage {
	case Waiting, Downloading, Extracting, Installing, Validating, Building, Running, Failed, Ended:
	default:
		return fmt.Errorf("unknown stage %.20q of an instance", s.Stage)
	}
	if s.ID == "" || len(s.ID) > maxName || len(s.Build) > maxName || s.Processes < 0 || s.Processes > maxProcesses {
		return fmt.Errorf("an instance needs an id of at most %d bytes, and at most %d processes", maxName,
			maxProcesses)
	}
	tooLong := func(id string) bool { return len(id) > maxName }
	if len(s.Outdated) > MaxOutdated || slices.ContainsFunc(s.Outdated, tooLong) {
		return fmt.Errorf("outdated may have %d ids of at most %d bytes", MaxOutdated, maxName)
	}
	if len(s.Versions) > MaxVersions {
		return fmt.Errorf("versions may have %d elements", MaxVersions)
	}
	for i := range s.Versions {
		if v := &s.Versions[i]; tooLong(v.Build) || v.Failure.tooLong() {
			return fmt.Errorf("an element of versions may have an id of %d bytes and a failure with a message of %d",
				maxName, maxText)
		}
	}
	if s.Failure.tooLong() {
		return fmt.Errorf("a failure may have a code of %d bytes and a message of %d", maxName, maxText)
	}
	return nil
}

func (f *Failure) tooLong() bool {
	return f != nil && (len(f.Code) > maxName || len(f.Message) > maxText)
}
