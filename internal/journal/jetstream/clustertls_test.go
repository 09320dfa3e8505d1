package jetstream_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"
)

// An authority signs the certificates of a test's nodes.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, pool: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	pair := a.sign(template)
	a.cert, a.key = pair.Leaf, pair.PrivateKey.(*ecdsa.PrivateKey)
	a.pool.AddCert(a.cert)
	return a
}

// sign signs a certificate, with its own key while there is no other.
func (a *authority) sign(template *x509.Certificate) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// node is the configuration of a node of the loopback interface.
func (a *authority) node() *tls.Config {
	a.t.Helper()
	pair := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "node"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: a.pool, MinVersion: tls.VersionTLS13}
}

// enter connects to a node as another node does, and returns its greeting.
func enter(t *testing.T, address string, cfg *tls.Config) (string, error) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if cfg != nil {
		conn = tls.Client(conn, cfg)
	}
	_, _ = io.WriteString(conn, "CONNECT {}\r\nPING\r\n") // refused already, or soon
	return bufio.NewReader(conn).ReadString('\n')
}

// Nodes meet with certificates of their authority, and nobody else comes in.
func TestClusterOverTLS(t *testing.T) {
	t.Parallel()
	t.Run("nodes", func(t *testing.T) {
		ours := newAuthority(t)
		c := newCluster(t)
		for i := range c.configs {
			c.configs[i].Cluster.TLS = ours.node()
		}
		c.startAll()
		w := &writer{t: t, j: c.journal(0, 0)}
		w.append()
		f := follow(t, c.journal(1, 0), 0)
		defer f.end()
		f.await(w.last)

		address := c.configs[0].Cluster.Listen
		ally := ours.node()
		ally.ServerName = "127.0.0.1"
		if line, err := enter(t, address, ally); err != nil || !strings.HasPrefix(line, "INFO ") {
			t.Errorf("a node is told %q, %v", line, err)
		}
		strangers := map[string]*tls.Config{
			"no certificate": {RootCAs: ours.pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS13},
			"another authority": {RootCAs: ours.pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS13,
				Certificates: newAuthority(t).node().Certificates},
			"no TLS": nil,
		}
		for name, cfg := range strangers {
			if line, err := enter(t, address, cfg); err == nil {
				t.Errorf("%s: the stranger is told %q", name, line)
			}
		}
	})
}
