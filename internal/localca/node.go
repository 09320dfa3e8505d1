package localca

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"sync"
	"time"
)

// nodeName is what every node of a cluster is called in its certificate: it is the
// authority that tells nodes from strangers, and addresses change.
const nodeName = "node.muster.internal"

// Node is the configuration with which a node of a cluster meets the others, on both
// sides of a connection. Only who has a node's certificate of the authority kept in dir is
// met; its server certificate is none. The node's own is kept in memory and made anew
// before it ends.
//
// Node makes no authority: nodes with authorities of their own never meet. Load does,
// so in a new directory Node comes first.
func Node(dir string, now func() time.Time) (*tls.Config, error) {
	signer, err := directory(dir).signer()
	if err != nil {
		return nil, fmt.Errorf("local CA: %s: %w: all nodes of a cluster have the same authority there: "+
			"copy ca.pem and ca.key of another node, or prepare the data directories with muster cluster init", dir, err)
	}
	if endsSoon(signer.authority, now()) { // Load would make a new one, and another on each node
		return nil, fmt.Errorf("local CA: %s: the authority ends at %s: stop all nodes, delete ca.pem and ca.key of each, "+
			"and give them new ones with muster cluster init", dir, signer.authority.NotAfter.Format(time.RFC3339))
	}
	nodes := x509.NewCertPool()
	nodes.AddCert(signer.authority)
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

// A node has a certificate that is good for some time.
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

// node makes a node's certificate.
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
