package server

import (
	"context"
	"net/url"
	"path/filepath"
	"time"

	"github.com/muster-gg/muster/internal/listen/localca"
	"github.com/muster-gg/muster/internal/telemetry"
)

// CertificateWarning is how long before its end a certificate counts as ending soon.
const CertificateWarning = 21 * 24 * time.Hour

const certificatePause = 24 * time.Hour // between two warnings, and two renewals

// watchCertificate warns at the start and daily of a certificate of the ports that clients reject, or will reject soon.
// Daily it also renews a certificate of the local CA, as the start does; the ports load it at the next handshake.
func (s *service) watchCertificate(ctx context.Context) error {
	tick := s.cfg.Clock.NewTicker(certificatePause)
	defer tick.Stop()
	for {
		s.reportCertificate()
		select {
		case <-tick.Chan():
			s.renewCertificate()
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *service) renewCertificate() {
	if s.caFile == "" {
		return
	}
	err := localca.Renew(filepath.Dir(s.caFile), certificateNames(&s.cfg), s.cfg.Clock.Now())
	if err != nil {
		s.cfg.Log.Warn("certificate not renewed", "error", err)
	}
}

func (s *service) reportCertificate() {
	leaf, now := s.certificate(), s.cfg.Clock.Now()
	file, renewal := s.cfg.TLSCert, "renew it; the service reads the file again by itself"
	if file == "" {
		file, renewal = "local CA", "see why it was not renewed; if the CA itself ends, a start creates another"
	}
	switch warn := s.cfg.Log.With("certificate", file).Warn; {
	case now.After(leaf.NotAfter):
		warn("certificate has expired", "expired", leaf.NotAfter, "fix", renewal)
	case now.Before(leaf.NotBefore):
		warn("certificate is not valid yet", "valid_from", leaf.NotBefore, "fix", "check the clock, or wait")
	case leaf.NotAfter.Sub(now) < CertificateWarning:
		warn("certificate expires soon", "expires", leaf.NotAfter, "fix", renewal)
	}
	u, err := url.Parse(s.cfg.PublicURL)
	if err == nil && u.Scheme == "wss" && leaf.VerifyHostname(u.Hostname()) != nil {
		s.cfg.Log.Warn("certificate lacks the name of public-url", "certificate", file, "public_url", s.cfg.PublicURL,
			"names", leaf.DNSNames, "fix", "a certificate with that name, or another public-url")
	}
}

// machineNumbers returns the state of the machine for the metrics.
func (s *service) machineNumbers() (telemetry.Machine, bool) {
	_, free := diskOf(s.cfg.Data)
	return telemetry.Machine{DiskFree: free, CertificateEnd: s.certificate().NotAfter}, true
}

// reportDisk warns of a disk that is almost full: a service whose disk is full stops.
func (s *service) reportDisk() {
	if size, free := diskOf(s.cfg.Data); size > 0 && free < LowDisk {
		s.cfg.Log.Warn("disk is almost full: the service stops when it is", "data", s.cfg.Data, "free_mib", free>>20,
			"fix", "free some space, or use a larger disk")
	}
}
