package control

import (
	"net/netip"
	"strings"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// hasCertificates reports whether the instances of a fleet have certificates.
func hasCertificates(f *catalog.Fleet) bool {
	return f.Managed != nil && f.Managed.Certificate == string(wire.CertificateTypeGenerated)
}

// instanceName returns the DNS name in the certificate of an instance.
func (sh shapes) instanceName(i *catalog.Instance) string {
	return i.ID + "." + i.Fleet + "." + sh.instanceDomain
}

// certificateDir returns the directory on a machine in which it keeps the certificate of an instance.
func certificateDir(o *catalog.MachineOffer, instance string) string {
	if o.Instances == "" { // an older agent
		return ""
	}
	separator := "/"
	if o.OS == "windows" {
		separator = `\`
	}
	return strings.Join([]string{o.Instances, instance, "certificate"}, separator)
}

// certifyInstance returns a certificate for the key of an instance, and that of the CA.
func (p *Plane) certifyInstance(i *catalog.Instance, request []byte) (certificate, root []byte, err error) {
	view := p.Catalog()
	f, ok := view.Fleet(i.Fleet)
	if !ok || !hasCertificates(f) || p.cfg.Certify == nil {
		return nil, nil, invalid("Instance %s has no certificate: its fleet does not have CertificateType GENERATED, "+
			"or the service has no CA.", i.ID)
	}
	names := []string{p.instanceName(i)}
	if m, ok := view.Machine(i.Machine); ok {
		if _, err := netip.ParseAddr(m.Offer.IP); err == nil {
			names = append(names, m.Offer.IP)
		}
	}
	if certificate, root, err = p.cfg.Certify(request, names); err != nil {
		return nil, nil, &fault.Error{Kind: fault.InvalidRequest, Message: "The certificate was not issued: " +
			err.Error(), Err: err}
	}
	return certificate, root, nil
}
