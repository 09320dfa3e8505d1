package localca

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"sync"
	"time"
)

// nodeName is the name in every node's certificate: the CA authenticates nodes, because addresses change.
const nodeName = "node.muster.internal"

// Node returns the configuration for connections between nodes, for both sides. It accepts only node certificates of
// the CA kept in dir; the server certificate is none. The node's own certificate is kept in memory and renewed before
// it expires.
//
// Node creates no CA, because nodes with different CAs cannot connect. Load does, so call Node first in a new
// directory.
func Node(dir string, now func() time.Time) (*tls.Config, error) {
	signer, err := directory(dir).signer()
	if err != nil {
		return nil, fmt.Errorf("local CA: %s: %w: all nodes of a cluster need the same CA: "+
			"copy ca.pem and ca.key of another node, or prepare the data directories with muster cluster init",
			dir, err)
	}
	if endsSoon(signer.ca, now()) { // Load would create a different CA on each node
		return nil, fmt.Errorf("local CA: %s: the CA expires at %s: stop all nodes, delete ca.pem and ca.key of each, "+
			"and create new ones with muster cluster init", dir, signer.ca.NotAfter.Format(time.RFC3339))
	}
	nodes := x509.NewCertPool()
	nodes.AddCert(signer.ca)
	n := &node{signer: signer, now: now}
	return &tls.Config{
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return n.certificate() },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return n.certificate() },
		RootCAs:              nodes,
		ClientCAs:            nodes,
		ServerName:           nodeName,
		ClientAuth:           tls.RequireAndVerifyClientCert,
		MinVersion:           tls.VersionTLS13,
		Time:                 now,
	}, nil
}

// A node holds the current certificate of a node.
type node struct {
	signer signer
	now    func() time.Time

	mu      sync.Mutex
	current *tls.Certificate // nil at first
}

func (n *node) certificate() (*tls.Certificate, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.now()
	if n.current != nil && !now.Before(n.current.Leaf.NotBefore) && !endsSoon(n.current.Leaf, now) {
		return n.current, nil
	}
	made, err := n.signer.node(now)
	if err != nil {
		return nil, fmt.Errorf("local CA: issue a node's certificate: %w", err)
	}
	n.current = &made
	return n.current, nil
}

func (s signer) node(now time.Time) (tls.Certificate, error) {
	certPEM, keyPEM, err := s.sign(&x509.Certificate{
		Subject:     pkix.Name{Organization: []string{"Muster"}, CommonName: nodeName},
		DNSNames:    []string{nodeName},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, now)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certPEM, keyPEM)
}
