package localca

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var now = time.Now().Truncate(time.Second)

// leaf loads and returns the server's certificate, parsed.
func leaf(t *testing.T, dir string, names []string, at time.Time) *x509.Certificate {
	t.Helper()
	s, err := Load(dir, names, at)
	if err != nil {
		t.Fatal(err)
	}
	return pair(t, s).Leaf
}

// pair reads a server's certificate and key.
func pair(t *testing.T, s Server) tls.Certificate {
	t.Helper()
	c, err := tls.LoadX509KeyPair(s.CertificateFile, s.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func readFile(t *testing.T, parts ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestClientsTrustTheCAFile(t *testing.T) {
	s, err := Load(filepath.Join(t.TempDir(), "new", "tls"),
		[]string{"Muster.example.com", "*.games.example.com", "192.0.2.7"}, now)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "hello")
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair(t, s)}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(readFile(t, s.CAFile)) {
		t.Fatal("the CA file holds no certificate")
	}
	host, _ := os.Hostname()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for name, good := range map[string]bool{
			"localhost": true, "127.0.0.1": true, "::1": true, host: true,
			"muster.example.com": true, "eu.games.example.com": true, "192.0.2.7": true,
			"example.com": false, "192.0.2.8": false,
		} {
			c, err := tls.Dial("tcp", server.Listener.Addr().String(),
				&tls.Config{RootCAs: roots, ServerName: name, MinVersion: version, MaxVersion: version})
			if (err == nil) != good {
				t.Errorf("%s with %q: %v", tls.VersionName(version), name, err)
			}
			if err == nil {
				_ = c.Close()
			}
		}
	}
	if _, err := tls.Dial("tcp", server.Listener.Addr().String(), &tls.Config{ServerName: "localhost"}); err == nil {
		t.Error("trusted without the CA file")
	}
}

func TestEveryAddressOfTheHostIsNamed(t *testing.T) {
	c := leaf(t, t.TempDir(), nil, now)
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if ip, _, err := net.ParseCIDR(a.String()); err == nil && !ip.IsLinkLocalUnicast() &&
			c.VerifyHostname(ip.String()) != nil {
			t.Errorf("%s is not named", ip)
		}
	}
}

func TestKeptFiles(t *testing.T) {
	dir := t.TempDir()
	first := leaf(t, dir, []string{"a.example.com"}, now)
	for _, at := range []time.Time{now, now.Add(time.Hour), now.Add(leafLifetime - renewBefore)} {
		if !leaf(t, dir, []string{"A.example.com", "a.example.com"}, at).Equal(first) {
			t.Errorf("a new certificate at %v", at)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Name())
		if filepath.Ext(e.Name()) == ".key" && runtime.GOOS != "windows" && info.Mode() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
	if want := []string{caKey, caCert, serverKey, serverCert}; !slices.Equal(got, want) {
		t.Errorf("files %v, want %v", got, want)
	}
}

func TestReissue(t *testing.T) {
	for name, tt := range map[string]struct {
		names  []string
		late   time.Duration
		change func(dir string) error
	}{
		"one more name":  {names: []string{"a.example.com", "b.example.com"}},
		"a name less":    {},
		"end is near":    {names: []string{"a.example.com"}, late: leafLifetime - renewBefore + time.Second},
		"long over":      {names: []string{"a.example.com"}, late: 2 * leafLifetime},
		"clock set back": {names: []string{"a.example.com"}, late: -2 * backdate},
		"file lost": {names: []string{"a.example.com"},
			change: func(dir string) error { return os.Remove(filepath.Join(dir, serverCert)) }},
		"key lost": {names: []string{"a.example.com"},
			change: func(dir string) error { return os.Remove(filepath.Join(dir, serverKey)) }},
		"file cut short": {names: []string{"a.example.com"},
			change: func(dir string) error { return os.Truncate(filepath.Join(dir, serverCert), 99) }},
		"foreign key": {names: []string{"a.example.com"}, change: foreignKey(serverKey)},
		"CA expired":  {names: []string{"a.example.com"}, late: caLifetime - renewBefore + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			first := leaf(t, dir, []string{"a.example.com"}, now)
			ca := readFile(t, dir, caCert)
			if tt.change != nil {
				if err := tt.change(dir); err != nil {
					t.Fatal(err)
				}
			}
			at := now.Add(tt.late)
			second := leaf(t, dir, tt.names, at)
			if second.Equal(first) {
				t.Fatal("the certificate is the old one")
			}
			if kept := bytes.Equal(readFile(t, dir, caCert), ca); kept == (name == "CA expired") {
				t.Errorf("the CA was kept: %v", kept)
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(readFile(t, dir, caCert))
			verifyAt := at
			if verifyAt.Before(now) {
				verifyAt = now // the CA was not there before
			}
			_, err := second.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: verifyAt, DNSName: "localhost"})
			if err != nil {
				t.Error(err)
			}
			for _, n := range tt.names {
				if err := second.VerifyHostname(n); err != nil {
					t.Error(err)
				}
			}
			if !leaf(t, dir, tt.names, at).Equal(second) {
				t.Error("issued once more without need")
			}
		})
	}
}

// TestRenew issues what Load would, except a CA.
func TestRenew(t *testing.T) {
	dir := t.TempDir()
	names := []string{"a.example.com"}
	first := leaf(t, dir, names, now)
	ca := readFile(t, dir, caCert)
	for _, c := range []struct {
		name    string
		names   []string
		late    time.Duration
		renewed bool
	}{
		{"nothing to do", names, leafLifetime - renewBefore, false},
		{"end is near", names, leafLifetime - renewBefore + time.Second, true},
		{"another name", []string{"b.example.com"}, leafLifetime, true},
		{"CA expires", names, caLifetime - renewBefore + time.Second, false},
	} {
		before := readFile(t, dir, serverCert)
		if err := Renew(dir, c.names, now.Add(c.late)); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if renewed := !bytes.Equal(readFile(t, dir, serverCert), before); renewed != c.renewed {
			t.Errorf("%s: renewed: %v", c.name, renewed)
		}
	}
	if !bytes.Equal(readFile(t, dir, caCert), ca) {
		t.Error("another CA")
	}
	if err := os.Remove(filepath.Join(dir, caKey)); err != nil {
		t.Fatal(err)
	}
	if err := Renew(dir, names, first.NotAfter); err == nil || !strings.Contains(err.Error(), caKey) {
		t.Errorf("without the CA's key: %v", err)
	}
}

// foreignKey puts another key into a file.
func foreignKey(name string) func(dir string) error {
	return func(dir string) error {
		_, key, err := newKey()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), key, 0o600)
	}
}

// The key of the CA is needed only to issue, and its loss never makes a
// new CA in silence.
func TestLostAuthority(t *testing.T) {
	dir := t.TempDir()
	first := leaf(t, dir, nil, now)
	ca := readFile(t, dir, caCert)
	if err := os.Remove(filepath.Join(dir, caKey)); err != nil {
		t.Fatal(err)
	}
	if !leaf(t, dir, nil, now).Equal(first) {
		t.Error("a new certificate")
	}
	if _, err := Load(dir, []string{"new.example.com"}, now); err == nil || !strings.Contains(err.Error(), caKey) {
		t.Errorf("without the CA's key: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, caCert), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir, nil, now); err == nil || !strings.Contains(err.Error(), caCert) {
		t.Errorf("with a broken CA: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, caCert), ca, 0o600); err != nil {
		t.Fatal(err)
	}
	if !leaf(t, dir, nil, now).Equal(first) {
		t.Error("a new certificate after the restoration")
	}
}

func TestAllNames(t *testing.T) {
	got, err := allNames([]string{"B.example.com", "::ffff:10.0.0.1", "2001:DB8::1"}, []string{"host", "10.0.0.1"})
	want := "[10.0.0.1 127.0.0.1 2001:db8::1 ::1 b.example.com host localhost]"
	if fmt.Sprint(got) != want || err != nil {
		t.Errorf("got %v, %v, want %s", got, err, want)
	}
	for _, bad := range []string{
		"", "a b", "-a", "a..b", "*", "a.*.b", "fe80::1%eth0", "https://x", "x:80", strings.Repeat("a", 64),
	} {
		if _, err := allNames([]string{bad}, nil); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
