package listen_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/listen"
)

// certify makes a certificate with a serial number and its key, both in PEM.
func certify(t *testing.T, serial int64) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"h"},
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// A certificate follows its files, in whatever order they are replaced; a broken one changes nothing and is logged
// once.
func TestCertificateFollowsItsFiles(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	replace := func(name string, data []byte) { // as certbot and Kubernetes do: another file of the same name
		t.Helper()
		if err := os.WriteFile(name+".new", data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(name+".new", name); err != nil {
			t.Fatal(err)
		}
	}
	overwrite := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	clock := clockwork.NewFakeClock()
	var log bytes.Buffer
	cert1, key1 := certify(t, 1)
	replace(certFile, cert1)
	replace(keyFile, key1)
	c, err := listen.LoadCertificate(certFile, keyFile, clock.Now, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 { // what a client sees, at the next handshake
		t.Helper()
		client, server := net.Pipe()
		defer client.Close()
		defer server.Close()
		go func() { _ = tls.Server(server, c.Server()).HandshakeContext(t.Context()) }()
		secure := tls.Client(client, &tls.Config{InsecureSkipVerify: true})
		if err := secure.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		return secure.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	later := func() int64 {
		t.Helper()
		clock.Advance(time.Second)
		return serial()
	}
	lines := func() int { return strings.Count(log.String(), "not reloaded") }

	if got := serial(); got != 1 {
		t.Errorf("at first: %d", got)
	}
	cert2, key2 := certify(t, 2)
	replace(certFile, cert2)
	if got := serial(); got != 1 {
		t.Errorf("within a second: %d", got)
	}
	for range 3 { // the key is still the old one
		if got := later(); got != 1 || lines() != 1 {
			t.Errorf("half replaced: %d, log %s", got, &log)
		}
	}
	replace(keyFile, key2)
	if got := later(); got != 2 {
		t.Errorf("replaced: %d", got)
	}

	for i, broken := range []string{"", "-----BEGIN CERTIFICATE-----", string(cert1)} {
		overwrite(certFile, []byte(broken))
		for range 3 {
			if got := later(); got != 2 || lines() != i+2 {
				t.Errorf("broken: %d, log %s", got, &log)
			}
		}
	}
	if err := os.Remove(certFile); err != nil {
		t.Fatal(err)
	}
	if got := later(); got != 2 {
		t.Errorf("missing: %d", got)
	}
	cert3, key3 := certify(t, 3)
	replace(keyFile, key3)
	replace(certFile, cert3)
	if got := later(); got != 3 {
		t.Errorf("in the other order: %d", got)
	}

	_, err = listen.LoadCertificate(certFile, filepath.Join(dir, "none"), clock.Now, slog.New(slog.DiscardHandler))
	if err == nil {
		t.Error("there is no key")
	}
}
