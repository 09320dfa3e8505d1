package instance

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
)

// The files of a certificate. Source: GameLift developer guide, GetComputeCertificate of managed fleets.
const (
	certificateFile = "certificate.pem"
	chainFile       = "certificateChain.pem"
	keyFile         = "privateKey.pem"
	rootFile        = "rootCertificate.pem"
)

const (
	// firstCertify and lastCertify are the times between attempts to get a certificate.
	firstCertify, lastCertify = time.Second, time.Minute
	// renewIn is the part of its life after which a certificate is replaced, in thirds.
	renewIn = 2
	// minRenewal is the shortest time between two certificates.
	minRenewal = time.Hour
)

func (i *instance) certificatePath(name string) string {
	return filepath.Join(i.dir, certificates, name)
}

// certify waits until the instance has a certificate that need not be renewed yet; false if the instance ends before.
func (i *instance) certify() bool {
	pause := firstCertify
	for {
		if i.renewal().After(i.m.cfg.Clock.Now()) {
			return true
		}
		err := i.fetchCertificate(i.beginning)
		if err == nil {
			i.update(func() { i.state.Stage, i.failure = protocol.Running, nil })
			return true
		}
		if i.beginning.Err() != nil || i.valid() { // the present one is replaced later
			return i.beginning.Err() == nil
		}
		i.log().Warn("certificate of an instance not issued", "error", err, "next_try", pause)
		i.update(func() { // a Running one with a failure fails its fleet
			i.state.Stage, i.failure = protocol.Building, failed(codeGeneric, "certificate: %v", err)
		})
		select {
		case <-i.m.cfg.Clock.After(pause):
		case <-i.beginning.Done():
			return false
		}
		pause = min(2*pause, lastCertify)
	}
}

// renew replaces the certificate of a running instance when two thirds of its life have passed.
func (i *instance) renew() {
	pause := firstCertify
	for {
		wait := max(i.renewal().Sub(i.m.cfg.Clock.Now()), 0)
		if wait == 0 {
			if err := i.fetchCertificate(i.beginning); err != nil {
				i.log().Warn("certificate of an instance not renewed", "error", err, "next_try", pause)
				wait, pause = pause, min(2*pause, lastCertify)
			} else {
				wait, pause = minRenewal, firstCertify
			}
		}
		select {
		case <-i.m.cfg.Clock.After(wait):
		case <-i.beginning.Done():
			return
		}
	}
}

// renewal returns when the certificate is to be replaced; zero if there is none that fits its key.
func (i *instance) renewal() time.Time {
	c := i.certificate()
	if c == nil {
		return time.Time{}
	}
	return c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore) / 3 * renewIn)
}

// valid reports whether there is a certificate that has not expired.
func (i *instance) valid() bool {
	c := i.certificate()
	return c != nil && i.m.cfg.Clock.Now().Before(c.NotAfter)
}

// certificate returns the certificate, or nil if there is none that fits its key.
func (i *instance) certificate() *x509.Certificate {
	pair, err := tls.LoadX509KeyPair(i.certificatePath(certificateFile), i.certificatePath(keyFile))
	if err != nil {
		return nil
	}
	return pair.Leaf
}

// fetchCertificate gets a certificate for the key of the instance, which does not leave the machine. The key stays the
// same, so that a game server that reads its files meanwhile finds none that do not fit.
func (i *instance) fetchCertificate(ctx context.Context) error {
	if err := i.m.makeDir(i.certificatePath("")); err != nil {
		return err
	}
	key, err := i.certificateKey()
	if err != nil {
		return err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return err
	}
	t, err := i.m.tokens.Certificate(ctx, i.id, request)
	if err != nil {
		return err
	}
	leaf, _ := pem.Decode([]byte(t.Certificate))
	if leaf == nil {
		return errors.New("the certificate is not in PEM form")
	}
	for name, text := range map[string]string{rootFile: t.Root, chainFile: t.Certificate + t.Root} {
		if err := i.m.writeFile(i.certificatePath(name), []byte(text)); err != nil {
			return err
		}
	}
	i.log().Info("certificate of an instance issued")
	return i.m.writeFile(i.certificatePath(certificateFile), []byte(t.Certificate)) // marks it as complete
}

// certificateKey reads the private key, or makes one.
func (i *instance) certificateKey() (crypto.Signer, error) {
	path := i.certificatePath(keyFile)
	if text, err := os.ReadFile(path); err == nil {
		if block, _ := pem.Decode(bytes.TrimSpace(text)); block != nil {
			if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
				if signer, ok := key.(crypto.Signer); ok {
					return signer, nil
				}
			}
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, i.m.writeFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}
