package listen

import (
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// lookPause lies between two looks at the files of a certificate.
const lookPause = time.Second

// A Certificate is one that two files hold. When they change it changes with them, from the next handshake on; when the
// new ones hold no certificate with its key it stays what it was, and the log says so once. It may be used by many
// goroutines at once.
type Certificate struct {
	cert, key string
	now       func() time.Time
	log       *slog.Logger
	current   atomic.Pointer[tls.Certificate]

	mu    sync.Mutex // held by whoever looks at the files
	last  time.Time  // look at them
	files [2]os.FileInfo
}

// LoadCertificate reads PEM files with a certificate chain and its key.
func LoadCertificate(cert, key string, now func() time.Time, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key, now: now, log: log, last: now()}
	return c, c.load()
}

// Server is a configuration of the accepting side of connections, from TLS 1.2 on.
func (c *Certificate) Server() *tls.Config {
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.get(), nil },
		MinVersion:     tls.VersionTLS12,
	}
}

// Both is a configuration of either side.
func (c *Certificate) Both() *tls.Config {
	both := c.Server()
	both.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.get(), nil }
	return both
}

// get is the certificate for a handshake. Only one handshake looks at the files; others do not wait for it.
func (c *Certificate) get() *tls.Certificate {
	if !c.mu.TryLock() {
		return c.current.Load()
	}
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.last).Abs() >= lookPause {
		c.last = now
		c.look()
	}
	return c.current.Load()
}

// look loads the certificate if the files have changed.
func (c *Certificate) look() {
	if !c.changed() {
		return
	}
	if err := c.load(); err != nil {
		c.log.Error("certificate not reloaded; the one before stays in use", "cert", c.cert, "key", c.key, "error", err)
		return
	}
	c.log.Info("certificate reloaded", "cert", c.cert, "ends", c.current.Load().Leaf.NotAfter)
}

// changed reports whether a file is another one than at the last load, as far as the directory tells. One that cannot
// be looked at is missing for the moment.
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

// load reads the files. It looks at them first: what is written meanwhile is another change.
func (c *Certificate) load() error {
	for i, name := range []string{c.cert, c.key} {
		c.files[i], _ = os.Stat(name) // reading says what is wrong
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err == nil {
		c.current.Store(&pair)
	}
	return err
}
