package listen

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the networks of trusted proxies. None: the peer of a connection is the client.
type Proxies []netip.Prefix

// maxHops limits the entries of X-Forwarded-For that are read, from the right.
const maxHops = 32

const (
	forwardedFor   = "X-Forwarded-For"
	forwardedProto = "X-Forwarded-Proto"
)

// ClientOf returns the address of the client: the peer of the connection, or, if that is a trusted proxy, the rightmost
// entry of X-Forwarded-For that is not a trusted proxy. The client may have forged the entries to its left. If an entry
// is not an address, the last trusted proxy counts as the client. list is the values of the header's fields, in their
// order.
func (p Proxies) ClientOf(peer netip.Addr, list []string) netip.Addr {
	if !p.contain(peer) {
		return peer
	}
	address, hops := peer, strings.Join(list, ",")
	for range maxHops {
		if hops == "" {
			break
		}
		i := strings.LastIndexByte(hops, ',')
		hop := ParseAddress(hops[i+1:])
		if !hop.IsValid() {
			break
		}
		if address = hop; !p.contain(address) {
			break
		}
		hops = hops[:max(i, 0)]
	}
	return address
}

// EncryptedOf reports whether the client uses TLS: the peer's connection does, or the peer is a trusted proxy and its
// X-Forwarded-Proto is https. Of several entries only the last one counts, as the client may have forged the others.
// list is the values of the header's fields, in their order.
func (p Proxies) EncryptedOf(peer Client, list []string) bool {
	if peer.TLS || len(list) == 0 || !p.contain(peer.Address) {
		return peer.TLS
	}
	last := list[len(list)-1]
	return strings.EqualFold(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:]), "https")
}

func (p Proxies) contain(a netip.Addr) bool {
	return a.IsValid() && slices.ContainsFunc(p, func(n netip.Prefix) bool { return n.Contains(a.WithZone("")) })
}

// ParseAddress reads an IP address with or without a port; the zero Addr if it is none. It converts IPv4 within IPv6 to
// IPv4 and removes a zone, so that one host has one address.
func ParseAddress(s string) netip.Addr {
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

// values returns the values of all fields of a name, in their order.
func (h Header) values(name string) (all []string) {
	for i := range h {
		if h[i].Is(name) {
			all = append(all, h[i].Value)
		}
	}
	return all
}

// FromThisMachine reports whether a client on this machine has sent a request itself: the peer is on loopback, and no
// header shows a proxy, which passes on requests from anywhere.
func FromThisMachine(r *http.Request) bool {
	if !ParseAddress(r.RemoteAddr).IsLoopback() {
		return false
	}
	for _, name := range []string{"Forwarded", forwardedFor, "X-Real-Ip", "Via"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	return true
}
