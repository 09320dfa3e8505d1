package localca

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

const (
	instanceLifetime = 90 * 24 * time.Hour
	maxRequest       = 8 << 10 // bytes of a certificate request
)

// HasCA reports whether there is a CA in dir, with its key.
func HasCA(dir string) (bool, error) {
	for _, name := range []string{caCert, caKey} {
		if _, err := os.Stat(directory(dir).path(name)); errors.Is(err, fs.ErrNotExist) {
			return false, nil
		} else if err != nil {
			return false, fmt.Errorf("local CA: %w", err)
		}
	}
	return true, nil
}

// Certify returns a server certificate of the CA kept in dir for the key of a certificate request in DER form, and the
// certificate of the CA, both in PEM form. It is valid for names, which are DNS names or IP addresses, for 90 days;
// those of the request do not count.
func Certify(dir string, request []byte, names []string, now time.Time) (certificate, root []byte, err error) {
	if len(request) > maxRequest {
		return nil, nil, fmt.Errorf("the certificate request has %d bytes; at most %d are allowed", len(request),
			maxRequest)
	}
	asked, err := x509.ParseCertificateRequest(request)
	if err == nil {
		err = asked.CheckSignature()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("certificate request: %w", err)
	}
	signer, err := directory(dir).signer()
	if err != nil {
		return nil, nil, fmt.Errorf("local CA: %w", err)
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{Organization: []string{"Muster"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	setNames(template, names)
	certificate, err = signer.certify(template, asked.PublicKey, now, instanceLifetime)
	return certificate, certificatePEM(signer.ca.Raw), err
}
