package quic

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"time"
)

// SelfSigned returns TLS configurations for a server with a new certificate and for a client that trusts only this
// certificate: for tests, for development and for games within one network, where no CA certifies a server. For players
// on the internet the server needs a certificate that their systems trust.
//
// hosts are the names and IP addresses of the server; the default is localhost, 127.0.0.1 and ::1. The client expects
// the first of them, whatever address it dials. The certificate is valid for a year. Both configurations must be from
// the same call, because the client rejects any other certificate. A client in another program can add
// server.Certificates[0].Certificate[0], the certificate in DER, to its tls.Config.RootCAs.
func SelfSigned(hosts ...string) (server, client *tls.Config, err error) {
	if len(hosts) == 0 {
		hosts = []string{"localhost", "127.0.0.1", "::1"}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: hosts[0]},
		NotBefore:             now.Add(-time.Hour), // for clients with slow clocks
		NotAfter:              now.AddDate(1, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	server = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}},
		MinVersion:   tls.VersionTLS13,
	}
	client = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: hosts[0], MinVersion: tls.VersionTLS13}
	client.RootCAs.AddCert(leaf)
	return server, client, nil
}
