package guard

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxHops is how many entries of X-Forwarded-For are looked at, from the right.
const maxHops = 32

// clientAddress is where a request came from: the connection's other end, or, when
// that is a trusted proxy, the rightmost address that none of the trusted ones
// vouches for by being one itself. What stands further left the client may have
// written, and is not believed. Behind an entry that is no address, the last
// trusted proxy counts as the client.
func clientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	address := parseAddress(r.RemoteAddr)
	if !contains(trusted, address) {
		return address
	}
	list := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
	for range maxHops {
		if list == "" {
			break
		}
		i := strings.LastIndexByte(list, ',')
		hop := parseAddress(list[i+1:])
		if !hop.IsValid() {
			break
		}
		if address = hop; !contains(trusted, address) {
			break
		}
		list = list[:max(i, 0)]
	}
	return address
}

// parseAddress reads an IP address with or without a port; not valid if it is none.
// IPv4 within IPv6 becomes IPv4, and a zone goes, so that one host has one address.
func parseAddress(s string) netip.Addr {
	s = strings.TrimSpace(s)
	if p, err := netip.ParseAddrPort(s); err == nil {
		return p.Addr().Unmap().WithZone("")
	}
	s = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

func contains(networks []netip.Prefix, a netip.Addr) bool {
	return a.IsValid() && slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) })
}
