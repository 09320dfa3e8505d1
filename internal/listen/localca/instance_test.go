package localca

import (
	"crypto/rand"
	"crypto/x509"
	"strings"
	"testing"
	"time"
)

// TestCertify: the names are those of the service, whatever the request has, and the key is that of the request.
func TestCertify(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if has, err := HasCA(dir); has || err != nil {
		t.Errorf("an empty directory has a CA: %v, %v", has, err)
	}
	if err := CreateCA(dir, now); err != nil {
		t.Fatal(err)
	}
	if has, err := HasCA(dir); !has || err != nil {
		t.Errorf("there is no CA: %v, %v", has, err)
	}
	key, _, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader,
		&x509.CertificateRequest{DNSNames: []string{"bank.example.com"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	text, root, err := Certify(dir, request, []string{"i-1.fleet-1.muster.internal", "192.0.2.7"}, now)
	if err != nil {
		t.Fatal(err)
	}
	c, err := parseCertificate(text)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(root)
	for name, ok := range map[string]bool{"i-1.fleet-1.muster.internal": true, "192.0.2.7": true,
		"bank.example.com": false} {
		_, err := c.Verify(x509.VerifyOptions{DNSName: name, Roots: pool, CurrentTime: now})
		if (err == nil) != ok {
			t.Errorf("as %s: %v", name, err)
		}
	}
	if !key.PublicKey.Equal(c.PublicKey) || !c.NotAfter.Equal(now.Add(90*24*time.Hour)) || c.IsCA {
		t.Errorf("the certificate is %+v", c)
	}
	request[len(request)-1] ^= 1
	for what, bad := range map[string][]byte{"another signature": request, "no request": []byte("x"),
		"too long": []byte(strings.Repeat("x", maxRequest+1))} {
		if _, _, err := Certify(dir, bad, nil, now); err == nil {
			t.Errorf("%s: a certificate was issued", what)
		}
	}
}
