// Package localca creates the certificates for a service without its own: a CA and a server certificate signed by it,
// kept in a directory.
//
// The files are ca.pem (for clients to trust), ca.key, server.pem and server.key. Keys are ECDSA P-256, which TLS 1.2
// clients support, and readable by their owner alone where the system has file modes.
//
// The nodes of a cluster have the same CA, and authenticate each other with certificates of it that are kept in memory.
//
// The CA is valid for ten years, so that clients install it once. The server's certificate is renewed when its names
// change or it is about to expire.
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
	caLifetime   = 10 * 365 * 24 * time.Hour
	leafLifetime = 365 * 24 * time.Hour // some clients refuse more than 825 days
	renewBefore  = 30 * 24 * time.Hour
	backdate     = 24 * time.Hour // clients' clocks may be slow
)

// A Server is the certificate with which a service serves TLS.
type Server struct {
	Certificate tls.Certificate
	CAFile      string // path of the CA's certificate, for clients

	CertificateFile, KeyFile string // paths of the server's
}

// TLSConfig returns a configuration with the certificate, for TLS 1.2 and later.
func (s Server) TLSConfig() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{s.Certificate}, MinVersion: tls.VersionTLS12}
}

// CreateCA creates a CA in dir, and the directory, if there is none.
func CreateCA(dir string, now time.Time) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("local CA: %w", err)
	}
	d := directory(dir)
	_, err := os.Stat(d.path(caCert))
	if errors.Is(err, fs.ErrNotExist) {
		_, err = d.createCA(now)
	}
	if err != nil {
		return fmt.Errorf("local CA: %w", err)
	}
	return nil
}

// Load returns the server certificate kept in dir. It creates what is missing or about to expire at the time now,
// including the directory. The certificate is valid for localhost, the loopback addresses, the host's name and
// addresses, and names, which are DNS names (also *.example.com) or IP addresses.
//
// A missing or wrong key of the CA is an error, because clients may trust the CA. Load must not run concurrently in one
// directory.
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
	ca, err := d.ca(now)
	if err != nil {
		return Server{}, fmt.Errorf("local CA: %w", err)
	}
	cert, ok := d.server(ca, wanted, now)
	if !ok {
		if cert, err = d.issue(wanted, now); err != nil {
			return Server{}, fmt.Errorf("local CA: issue a server certificate: %w", err)
		}
	}
	return Server{Certificate: cert, CAFile: d.path(caCert),
		CertificateFile: d.path(serverCert), KeyFile: d.path(serverKey)}, nil
}

// The files of a directory.
const (
	caCert     = "ca.pem"
	caKey      = "ca.key"
	serverCert = "server.pem"
	serverKey  = "server.key"
)

// A directory holds a CA and a server certificate.
type directory string

func (d directory) path(name string) string { return filepath.Join(string(d), name) }

// ca reads the CA's certificate, or creates a CA if there is none or it is about to expire.
func (d directory) ca(now time.Time) (*x509.Certificate, error) {
	data, err := os.ReadFile(d.path(caCert))
	if errors.Is(err, fs.ErrNotExist) {
		return d.createCA(now)
	}
	if err != nil {
		return nil, err
	}
	ca, err := parseCertificate(data)
	if err == nil && !ca.IsCA {
		err = errors.New("not the certificate of a CA")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: restore it, or delete it to create a new CA", d.path(caCert), err)
	}
	if endsSoon(ca, now) {
		return d.createCA(now)
	}
	return ca, nil
}

// server reads the server's certificate and reports whether it is usable.
func (d directory) server(ca *x509.Certificate, wanted []string, now time.Time) (tls.Certificate, bool) {
	cert, err := tls.LoadX509KeyPair(d.path(serverCert), d.path(serverKey))
	if err != nil {
		return tls.Certificate{}, false
	}
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil || leaf.CheckSignatureFrom(ca) != nil || !sameNames(leaf, wanted) {
		return tls.Certificate{}, false
	}
	return cert, !now.Before(leaf.NotBefore) && !endsSoon(leaf, now)
}

// endsSoon reports whether a certificate must be renewed.
func endsSoon(c *x509.Certificate, now time.Time) bool { return c.NotAfter.Sub(now) < renewBefore }
