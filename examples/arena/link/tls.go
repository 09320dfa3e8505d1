package link

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/quic"
)

// ServerUsage and ClientUsage say what the flags of Register are.
const (
	ServerUsage = `  -transport=NAME    tcp, tls or quic; default tcp
  -cert=FILE         PEM, for tls and quic; default: a certificate that signs itself
  -key=FILE          PEM, of the certificate`
	ClientUsage = `  -transport=NAME    tcp, tls or quic, as the server has it; default tcp
  -fingerprint=HEX   trusts the certificate with this SHA-256, as the server prints it
  -insecure          trusts any certificate`
)

// A Server is how a server is connected to.
type Server struct {
	Transport string // "" for TCP
	Cert, Key string // files; "" for a certificate that signs itself
}

// Register adds the flags to a set.
func (s *Server) Register(flags *flag.FlagSet) {
	flags.StringVar(&s.Transport, "transport", TCP, "")
	flags.StringVar(&s.Cert, "cert", "", "")
	flags.StringVar(&s.Key, "key", "", "")
}

// Validate says what cannot be right.
func (s *Server) Validate() error {
	switch {
	case (s.Cert == "") != (s.Key == ""):
		return errors.New("flags -cert and -key: one needs the other")
	case s.Cert != "" && plain(s.Transport):
		return errors.New("flag -cert: -transport tcp has no certificate")
	}
	return check(s.Transport)
}

// Datagrams says whether the transport has datagrams.
func (s *Server) Datagrams() bool { return s.Transport == QUIC }

// Open makes the transport. The fingerprint is that of the certificate; "" if there is none.
func (s *Server) Open() (t gamenet.Transport, fingerprint string, err error) {
	if plain(s.Transport) {
		return gamenet.TCP, "", nil
	}
	cert, err := s.certificate()
	if err != nil {
		return nil, "", fmt.Errorf("certificate: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}}
	return secure(s.Transport, config), Fingerprint(cert.Certificate[0]), nil
}

// certificate reads the certificate, or makes one.
func (s *Server) certificate() (tls.Certificate, error) {
	if s.Cert != "" {
		return tls.LoadX509KeyPair(s.Cert, s.Key)
	}
	config, _, err := quic.SelfSigned()
	if err != nil {
		return tls.Certificate{}, err
	}
	return config.Certificates[0], nil
}

// secure is the transport that uses a certificate.
func secure(transport string, config *tls.Config) gamenet.Transport {
	if transport == QUIC {
		return quic.New(quic.Config{TLS: config})
	}
	return gamenet.TLS(config)
}

// Fingerprint is the SHA-256 of a certificate in DER, in hexadecimal.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// A Client is how a client connects.
type Client struct {
	Transport   string // "" for TCP
	Fingerprint string // of the server's certificate; "" to check it as usual
	Insecure    bool   // takes any certificate
}

// Register adds the flags to a set.
func (c *Client) Register(flags *flag.FlagSet) {
	flags.StringVar(&c.Transport, "transport", TCP, "")
	flags.StringVar(&c.Fingerprint, "fingerprint", "", "")
	flags.BoolVar(&c.Insecure, "insecure", false, "")
}

// Open makes the transport. Without a fingerprint the server's certificate must be one of the system's authorities, and
// its name must be in it.
func (c *Client) Open() (gamenet.Transport, error) {
	if err := check(c.Transport); err != nil {
		return nil, err
	}
	if plain(c.Transport) {
		return gamenet.TCP, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: c.Insecure}
	if c.Fingerprint != "" {
		pin, err := hex.DecodeString(strings.ReplaceAll(c.Fingerprint, ":", ""))
		if err != nil || len(pin) != sha256.Size {
			return nil, fmt.Errorf("flag -fingerprint: not the %d hexadecimal digits of a SHA-256", 2*sha256.Size)
		}
		config.InsecureSkipVerify = true // the one certificate is enough
		config.VerifyConnection = pinned(pin)
	}
	return secure(c.Transport, config), nil
}

// pinned accepts the one certificate with this SHA-256.
func pinned(pin []byte) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		if sum := sha256.Sum256(state.PeerCertificates[0].Raw); subtle.ConstantTimeCompare(sum[:], pin) != 1 {
			return errors.New("the server's certificate has another fingerprint: " + hex.EncodeToString(sum[:]))
		}
		return nil
	}
}
