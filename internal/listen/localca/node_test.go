package localca

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func at(moment time.Time) func() time.Time { return func() time.Time { return moment } }

// cluster is a directory with a CA.
func cluster(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "tls")
	if err := CreateCA(dir, now); err != nil {
		t.Fatal(err)
	}
	return dir
}

// a node of the cluster
func aNode(t *testing.T, dir string, now func() time.Time) *tls.Config {
	t.Helper()
	c, err := Node(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// meet returns the results of a handshake on both sides of a connection. A client learns the server's result when it
// reads.
func meet(t *testing.T, server, client *tls.Config) (serverErr, clientErr error) {
	t.Helper()
	to, from := net.Pipe()
	served := make(chan error, 1)
	go func() {
		defer to.Close()
		_, err := tls.Server(to, server).Write([]byte("x"))
		served <- err
	}()
	_, clientErr = io.ReadFull(tls.Client(from, client), make([]byte, 1))
	from.Close()
	return <-served, clientErr
}

func TestNodesMeet(t *testing.T) {
	dir := cluster(t)
	for _, late := range []time.Duration{0, leafLifetime, 5 * leafLifetime} {
		serverErr, clientErr := meet(t, aNode(t, dir, at(now.Add(late))), aNode(t, dir, at(now.Add(late))))
		if serverErr != nil || clientErr != nil {
			t.Errorf("%v after the beginning: server %v, client %v", late, serverErr, clientErr)
		}
	}
}

func TestStrangersAreRefused(t *testing.T) {
	dir := cluster(t)
	served, err := Load(dir, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	node := aNode(t, dir, at(now))
	with := func(pairs ...tls.Certificate) *tls.Config {
		return &tls.Config{Certificates: pairs, RootCAs: node.RootCAs, ServerName: nodeName,
			MinVersion: tls.VersionTLS12}
	}
	foreign := aNode(t, cluster(t), at(now))
	trusting := foreign.Clone() // trusts the node, and shows a foreign certificate
	trusting.RootCAs, trusting.ClientCAs = node.RootCAs, node.RootCAs
	older := node.Clone()
	older.MinVersion, older.MaxVersion = 0, tls.VersionTLS12
	for name, stranger := range map[string]*tls.Config{
		"another CA":               foreign,
		"another CA, trusting":     trusting,
		"no certificate":           with(),
		"the server's certificate": with(pair(t, served)),
		"TLS 1.2":                  older,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := meet(t, stranger, node); err == nil {
				t.Error("a node went on with it as its server")
			}
			if err, _ := meet(t, node, stranger); err == nil {
				t.Error("a node let it in")
			}
		})
	}
}

// A process that lives longer than a certificate shows another one in time.
func TestNodeRenews(t *testing.T) {
	dir, moment := cluster(t), now
	c := aNode(t, dir, func() time.Time { return moment })
	serial := func() string {
		t.Helper()
		asServer, err := c.GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		asClient, err := c.GetClientCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		if !asServer.Leaf.Equal(asClient.Leaf) || moment.Before(asServer.Leaf.NotBefore) ||
			moment.After(asServer.Leaf.NotAfter) {
			t.Errorf("at %v: %v to %v", moment, asServer.Leaf.NotBefore, asServer.Leaf.NotAfter)
		}
		return asServer.Leaf.SerialNumber.String()
	}
	first := serial()
	moment = now.Add(leafLifetime - renewBefore)
	if serial() != first {
		t.Error("a new certificate without need")
	}
	moment = moment.Add(time.Second)
	second := serial()
	if second == first {
		t.Error("the certificate is kept although its end is near")
	}
	moment = now.Add(-backdate)
	if serial() == second {
		t.Error("the certificate is kept although it is not valid yet")
	}
}

// Nothing is made where nodes would part.
func TestNodeNeedsAnAuthority(t *testing.T) {
	for name, c := range map[string]struct {
		change func(dir string) error
		late   time.Duration
		want   string
	}{
		"no certificate": {change: func(dir string) error { return os.Remove(filepath.Join(dir, caCert)) },
			want: caCert},
		"no key":       {change: func(dir string) error { return os.Remove(filepath.Join(dir, caKey)) }, want: caKey},
		"no directory": {change: os.RemoveAll, want: caCert},
		"cut short": {change: func(dir string) error { return os.Truncate(filepath.Join(dir, caCert), 99) },
			want: "PEM"},
		"foreign key":  {change: foreignKey(caKey), want: "does not match"},
		"no authority": {change: serverAsCA, want: "not the certificate of a CA"},
		"end is near": {change: func(string) error { return nil }, late: caLifetime - renewBefore + time.Second,
			want: "the CA expires at"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := cluster(t)
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadDir(dir)
			_, err := Node(dir, at(now.Add(c.late)))
			for _, part := range []string{dir, c.want, "muster cluster init"} {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%v lacks %q", err, part)
				}
			}
			if after, _ := os.ReadDir(dir); len(after) != len(before) {
				t.Errorf("Node has written: %v", after)
			}
		})
	}
}

func serverAsCA(dir string) error {
	_, err := Load(dir, nil, now)
	for from, to := range map[string]string{serverCert: caCert, serverKey: caKey} {
		if err == nil {
			err = os.Rename(filepath.Join(dir, from), filepath.Join(dir, to))
		}
	}
	return err
}

func TestFoundKeepsAnAuthority(t *testing.T) {
	dir := cluster(t)
	first := string(readFile(t, dir, caCert)) + string(readFile(t, dir, caKey))
	if err := CreateCA(dir, now.Add(caLifetime)); err != nil {
		t.Fatal(err)
	}
	if string(readFile(t, dir, caCert))+string(readFile(t, dir, caKey)) != first {
		t.Error("another CA")
	}
	file := filepath.Join(dir, caCert, "tls")
	if err := CreateCA(file, now); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("below a file: %v", err)
	}
}
