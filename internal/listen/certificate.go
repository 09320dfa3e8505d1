package listen

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// checkPause is the minimum time between two checks of a certificate's files.
const checkPause = time.Second

// A Certificate is loaded from two files, and loaded again at the first handshake after they have changed. If the new
// files hold no certificate with its key, it keeps the old one and logs that once. It is safe for concurrent use.
type Certificate struct {
	cert, key string
	now       func() time.Time
	log       *slog.Logger
	current   atomic.Pointer[tls.Certificate]

	mu    sync.Mutex // held while the files are checked
	last  time.Time  // check of them
	files [2]os.FileInfo
}

// LoadCertificate reads PEM files with a certificate chain and its key.
func LoadCertificate(cert, key string, now func() time.Time, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key, now: now, log: log, last: now()}
	return c, c.load()
}

// Server returns a configuration for the accepting side of connections, from TLS 1.2 on.
func (c *Certificate) Server() *tls.Config {
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.get(), nil },
		MinVersion:     tls.VersionTLS12,
	}
}

// Both returns a configuration for either side.
func (c *Certificate) Both() *tls.Config {
	both := c.Server()
	both.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.get(), nil }
	return both
}

// Leaf returns the certificate that a handshake would get, without its chain.
func (c *Certificate) Leaf() *x509.Certificate { return c.get().Leaf }

// get returns the certificate for a handshake. Only one handshake checks the files; others do not wait for it.
func (c *Certificate) get() *tls.Certificate {
	if !c.mu.TryLock() {
		return c.current.Load()
	}
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.last).Abs() >= checkPause {
		c.last = now
		c.reload()
	}
	return c.current.Load()
}

// reload loads the certificate if the files have changed.
func (c *Certificate) reload() {
	if !c.changed() {
		return
	}
	if err := c.load(); err != nil {
		c.log.Error("certificate not reloaded; still using the old one", "cert", c.cert, "key", c.key, "error", err)
		return
	}
	c.log.Info("certificate reloaded", "cert", c.cert, "ends", c.current.Load().Leaf.NotAfter)
}

// changed reports whether a file differs from that of the last load, by identity, size or time of modification. A file
// that cannot be read is ignored: it may be missing only for the moment.
func (c *Certificate) changed() bool {
	for i, name := range []string{c.cert, c.key} {
		f, err := os.Stat(name)
		if err != nil {
			continue
		}
		if was := c.files[i]; was == nil || !os.SameFile(f, was) || f.Size() != was.Size() ||
			!f.ModTime().Equal(was.ModTime()) {
			return true
		}
	}
	return false
}

// load reads the files. It checks them first, so that a change during the read counts as another change.
func (c *Certificate) load() error {
	for i, name := range []string{c.cert, c.key} {
		c.files[i], _ = os.Stat(name) // reading the file reports the error
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err == nil {
		c.current.Store(&pair)
	}
	return err
}
