package guard

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxHops limits the entries of X-Forwarded-For that are read, from the right.
const maxHops = 32

// clientAddress returns the address of the client: the peer of the connection, or, if that is a trusted proxy, the
// rightmost entry of X-Forwarded-For that is not a trusted proxy. The client may have forged the entries to its left.
// If an entry is not an address, the last trusted proxy counts as the client.
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

// parseAddress reads an IP address with or without a port; the zero Addr if it is none. It converts IPv4 within IPv6 to
// IPv4 and removes a zone, so that one host has one address.
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
