package lan

import (
	"errors"
	"net"
	"net/netip"
	"slices"
)

// The multicast groups of all hosts.
var (
	group4 = netip.AddrFrom4([4]byte{239, 255, 140, 1})
	group6 = netip.MustParseAddr("ff12::8000:36b1")
)

// errNoLink is the cause when there is no link to send or receive on.
var errNoLink = errors.New("there is no link with an address: bring a network interface " +
	"up, or name others in Interfaces")

// A link is a network interface that is up.
type link struct {
	net.Interface
	prefixes []netip.Prefix // its addresses, each with the bits of its network
}

// systemLinks returns the links of this machine with these names, or all. A link that is removed meanwhile is omitted.
func systemLinks(names []string) ([]link, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var links []link
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || len(names) > 0 && !slices.Contains(names, i.Name) {
			continue
		}
		if addrs, err := i.Addrs(); err == nil {
			links = append(links, link{i, prefixes(addrs)})
		}
	}
	return links, nil
}

func prefixes(addrs []net.Addr) []netip.Prefix {
	var ps []netip.Prefix
	for _, a := range addrs {
		network, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		addr, ok := netip.AddrFromSlice(network.IP)
		ones, bits := network.Mask.Size()
		if ok && bits == addr.Unmap().BitLen() {
			ps = append(ps, netip.PrefixFrom(addr.Unmap(), ones))
		}
	}
	return ps
}

// multicasts reports whether a group can be joined. Loopback lacks the flag on Linux, but supports it.
func (l link) multicasts() bool { return l.Flags&(net.FlagMulticast|net.FlagLoopback) != 0 }

// reaches reports whether an address is on the link. For a link-local address its zone decides.
func (l link) reaches(addr netip.Addr) bool {
	if addr.Zone() != "" {
		return addr.Zone() == l.Name
	}
	return slices.ContainsFunc(l.prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// targets returns the addresses that together reach all hosts of the link.
func (l link) targets() []netip.Addr {
	var targets []netip.Addr
	add := func(group netip.Addr) {
		if !slices.Contains(targets, group) {
			targets = append(targets, group)
		}
	}
	for _, p := range l.prefixes {
		if p.Addr().Is6() && l.multicasts() {
			add(group6.WithZone(l.Name))
		}
		if p.Addr().Is4() && l.multicasts() {
			add(group4)
		}
		// Loopback lacks the flag on Linux, but broadcasts. Networks of one or two addresses have no broadcast address.
		if p.Addr().Is4() && p.Bits() < 31 && l.Flags&(net.FlagBroadcast|net.FlagLoopback) != 0 {
			add(broadcast(p))
		}
	}
	return targets
}

// broadcast returns the broadcast address of an IPv4 network.
func broadcast(p netip.Prefix) netip.Addr {
	addr, mask := p.Addr().As4(), net.CIDRMask(p.Bits(), 32)
	for i := range addr {
		addr[i] |= ^mask[i]
	}
	return netip.AddrFrom4(addr)
}

// rank orders the addresses from which a host has answered; the lowest is used to connect: IPv4 before IPv6, both first
// the addresses that other machines can route to, then the link-local ones, then loopback.
func rank(addr netip.Addr) int {
	r := 0
	switch {
	case addr.IsLoopback():
		r = 4
	case addr.IsLinkLocalUnicast():
		r = 2
	}
	if addr.Is6() {
		r++
	}
	return r
}
