// Package localca creates the certificates for a service without its own: a CA and a server certificate signed by it,
// kept in a directory.
//
// The files are ca.pem (for clients to trust), ca.key, server.pem and server.key. Keys are ECDSA P-256, which TLS 1.2
// clients support, and readable by their owner alone where the system has file modes.
//
// The nodes of a cluster have the same CA, and authenticate each other with certificates of it that are kept in memory.
//
// The CA is valid for ten years, so that clients install it once. The server's certificate is renewed when its names
// change or it is about to expire, at the start of a service and while it runs.
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

// A Server has the paths of the certificate with which a service serves TLS.
type Server struct {
	CertificateFile, KeyFile string
	CAFile                   string // for clients
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
	files := Server{CertificateFile: d.path(serverCert), KeyFile: d.path(serverKey), CAFile: d.path(caCert)}
	return files, d.keep(ca, wanted, now)
}

// Renew issues the server certificate kept in dir again if its names have changed or it is about to expire at the time
// now. names are those of Load, which it must not run beside. It keeps a CA that is about to expire: clients, and the
// other nodes of a cluster, could not connect to a service with a new one.
func Renew(dir string, names []string, now time.Time) error {
	wanted, err := allNames(names, thisHost())
	if err != nil {
		return err
	}
	d := directory(dir)
	ca, err := d.readCA()
	if err != nil {
		return fmt.Errorf("local CA: %w", err)
	}
	if endsSoon(ca, now) {
		return nil // a certificate of it would end as soon
	}
	return d.keep(ca, wanted, now)
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
	ca, err := d.readCA()
	if errors.Is(err, fs.ErrNotExist) || err == nil && endsSoon(ca, now) {
		return d.createCA(now)
	}
	return ca, err
}

func (d directory) readCA() (*x509.Certificate, error) {
	data, err := os.ReadFile(d.path(caCert))
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
	return ca, nil
}

// keep issues the server's certificate unless it is usable.
func (d directory) keep(ca *x509.Certificate, wanted []string, now time.Time) error {
	if d.usable(ca, wanted, now) {
		return nil
	}
	if err := d.issue(wanted, now); err != nil {
		return fmt.Errorf("local CA: issue a server certificate: %w", err)
	}
	return nil
}

// usable reports whether the server's certificate is there, of the CA, with its names, and valid for a while.
func (d directory) usable(ca *x509.Certificate, wanted []string, now time.Time) bool {
	cert, err := tls.LoadX509KeyPair(d.path(serverCert), d.path(serverKey))
	if err != nil {
		return false
	}
	leaf := cert.Leaf
	return leaf.CheckSignatureFrom(ca) == nil && sameNames(leaf, wanted) && !now.Before(leaf.NotBefore) &&
		!endsSoon(leaf, now)
}

// endsSoon reports whether a certificate must be renewed.
func endsSoon(c *x509.Certificate, now time.Time) bool { return c.NotAfter.Sub(now) < renewBefore }
