// Package localca makes the certificate that a service without one of its own
// speaks TLS with: a certificate authority and a server certificate signed by
// it, kept in a directory.
//
// The files are ca.pem (for clients to trust), ca.key, server.pem and
// server.key; keys are ECDSA P-256, which clients that end at TLS 1.2 know too,
// and are readable by their owner alone where the system has file modes.
//
// The nodes of a cluster have the same authority, and meet with certificates of it that
// are kept nowhere.
//
// The authority stays the same for ten years, so that clients need to be told
// of it once. The server's certificate is made anew whenever its names change or
// its end is near.
package localca

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 365 * 24 * time.Hour // clients of some systems refuse more than 825 days
	renewBefore   = 30 * 24 * time.Hour
	backdate      = 24 * time.Hour // clients' clocks may be slow
)

// A Server is what a service needs to speak TLS.
type Server struct {
	Certificate tls.Certificate
	CAFile      string // the path of the authority's certificate, for clients
}

// TLSConfig is a configuration that answers with the certificate, from TLS 1.2 on.
func (s Server) TLSConfig() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{s.Certificate}, MinVersion: tls.VersionTLS12}
}

// Found makes an authority in dir, directory included, where there is none.
func Found(dir string, now time.Time) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("local CA: %w", err)
	}
	d := directory(dir)
	_, err := os.Stat(d.path(caCert))
	if errors.Is(err, fs.ErrNotExist) {
		_, err = d.found(now)
	}
	if err != nil {
		return fmt.Errorf("local CA: %w", err)
	}
	return nil
}

// Load returns the server certificate kept in dir and makes, directory
// included, what is missing or due at the time now. The certificate is good for
// localhost, the loopback addresses, the host's name and addresses, and the
// given names, which are DNS names (also *.example.com) or IP addresses.
//
// An authority whose key is lost or not its own is an error, not replaced:
// clients may trust it. Load must not run twice at once in one directory.
func Load(dir string, names []string, now time.Time) (Server, error) {
	wanted, err := allNames(names, thisHost())
	if err != nil {
		return Server{}, err
	}
	return load(dir, wanted, now)
}

func load(dir string, wanted []string, now time.Time) (Server, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Server{}, fmt.Errorf("local CA: %w", err)
	}
	d := directory(dir)
	authority, err := d.authority(now)
	if err != nil {
		return Server{}, fmt.Errorf("local CA: %w", err)
	}
	cert, ok := d.server(authority, wanted, now)
	if !ok {
		if cert, err = d.issue(wanted, now); err != nil {
			return Server{}, fmt.Errorf("local CA: issue a server certificate: %w", err)
		}
	}
	return Server{Certificate: cert, CAFile: d.path(caCert)}, nil
}

// The files of a directory.
const (
	caCert     = "ca.pem"
	caKey      = "ca.key"
	serverCert = "server.pem"
	serverKey  = "server.key"
)

// A directory holds an authority and a server certificate.
type directory string

func (d directory) path(name string) string { return filepath.Join(string(d), name) }

// authority reads the authority's certificate, or makes an authority where
// there is none or the one there is about to end.
func (d directory) authority(now time.Time) (*x509.Certificate, error) {
	data, err := os.ReadFile(d.path(caCert))
	if errors.Is(err, fs.ErrNotExist) {
		return d.found(now)
	}
	if err != nil {
		return nil, err
	}
	authority, err := parseCertificate(data)
	if err == nil && !authority.IsCA {
		err = errors.New("not the certificate of an authority")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: restore it, or delete it to make a new authority", d.path(caCert), err)
	}
	if endsSoon(authority, now) {
		return d.found(now)
	}
	return authority, nil
}

// server reads the server's certificate and says whether it will do.
func (d directory) server(authority *x509.Certificate, wanted []string, now time.Time) (tls.Certificate, bool) {
	cert, err := tls.LoadX509KeyPair(d.path(serverCert), d.path(serverKey))
	if err != nil {
		return tls.Certificate{}, false
	}
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil || leaf.CheckSignatureFrom(authority) != nil || !sameNames(leaf, wanted) {
		return tls.Certificate{}, false
	}
	return cert, !now.Before(leaf.NotBefore) && !endsSoon(leaf, now)
}

// endsSoon reports whether it is time for a new certificate.
func endsSoon(c *x509.Certificate, now time.Time) bool { return c.NotAfter.Sub(now) < renewBefore }
