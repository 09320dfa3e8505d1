package localca

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/muster-gg/muster/internal/atomicfile"
)

// createCA creates a CA. The key is written first: the certificate marks the CA as complete.
func (d directory) createCA(now time.Time) (*x509.Certificate, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("Muster local CA %x", serial)
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{Organization: []string{"Muster local CA"}, CommonName: name},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(caLifetime),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Write(d.path(caKey), keyPEM, 0o600); err != nil {
		return nil, err
	}
	if err := atomicfile.Write(d.path(caCert), certificatePEM(der), 0o644); err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// A signer is the CA with its key.
type signer struct {
	ca  *x509.Certificate
	key crypto.PrivateKey
}

func (d directory) signer() (signer, error) {
	pair, err := tls.LoadX509KeyPair(d.path(caCert), d.path(caKey))
	if err == nil && !pair.Leaf.IsCA {
		err = errors.New("not the certificate of a CA")
	}
	return signer{pair.Leaf, pair.PrivateKey}, err
}

// sign returns a certificate of the template, with a new key.
func (s signer) sign(template *x509.Certificate, now time.Time) (certPEM, keyPEM []byte, err error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	certPEM, err = s.certify(template, key.Public(), now, leafLifetime)
	return certPEM, keyPEM, err
}

// certify returns a certificate of the template for a key.
func (s signer) certify(template *x509.Certificate, key crypto.PublicKey, now time.Time,
	lifetime time.Duration) (certPEM []byte, err error) {
	if template.SerialNumber, err = newSerial(); err != nil {
		return nil, err
	}
	template.NotBefore, template.NotAfter = now.Add(-backdate), now.Add(lifetime)
	if template.NotAfter.After(s.ca.NotAfter) {
		template.NotAfter = s.ca.NotAfter
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, s.ca, key, s.key)
	return certificatePEM(der), err
}

// issue writes a server certificate and its key.
func (d directory) issue(names []string, now time.Time) error {
	signer, err := d.signer()
	if err != nil {
		return fmt.Errorf("load the CA's key: %w: restore %s, or delete %s to create a new CA",
			err, d.path(caKey), d.path(caCert))
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{Organization: []string{"Muster"}, CommonName: "localhost"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	setNames(template, names)
	certPEM, keyPEM, err := signer.sign(template, now)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(d.path(serverKey), keyPEM, 0o600); err != nil {
		return err
	}
	return atomicfile.Write(d.path(serverCert), certPEM, 0o644)
}

func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// newSerial returns a random serial number of 127 bits.
func newSerial() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
}

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func parseCertificate(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("no certificate in PEM form")
	}
	return x509.ParseCertificate(block.Bytes)
}
