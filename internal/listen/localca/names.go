package localca

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
)

// thisHost returns the host's name and addresses, if known.
func thisHost() []string {
	var names []string
	if name, err := os.Hostname(); err == nil && isDNSName(name) {
		names = append(names, name)
	}
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && !p.Addr().IsLinkLocalUnicast() {
			names = append(names, p.Addr().String())
		}
	}
	return names
}

// allNames returns the sorted set of names for a certificate.
func allNames(given, host []string) ([]string, error) {
	all := []string{"localhost", "127.0.0.1", "::1"}
	for _, name := range slices.Concat(given, host) {
		if ip, err := netip.ParseAddr(name); err == nil && ip.Zone() == "" {
			all = append(all, ip.Unmap().String())
			continue
		}
		if !isDNSName(name) {
			return nil, fmt.Errorf("local CA: %q is neither a DNS name nor an IP address", name)
		}
		all = append(all, strings.ToLower(name))
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

const dnsLabel = `[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?`

var dnsName = regexp.MustCompile(`^(\*\.)?(` + dnsLabel + `)(\.` + dnsLabel + `)*$`)

func isDNSName(s string) bool { return len(s) <= 253 && dnsName.MatchString(s) }

func setNames(template *x509.Certificate, names []string) {
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
}

// sameNames reports whether the certificate has exactly these sorted names.
func sameNames(c *x509.Certificate, names []string) bool {
	has := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		has = append(has, ip.String())
	}
	slices.Sort(has)
	return slices.Equal(has, names)
}
