package lan

import (
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/session"
)

func fakeLink(name string, flags net.Flags, prefixes ...string) link {
	l := link{Interface: net.Interface{Index: 1 << 20, Name: name, Flags: net.FlagUp | flags}}
	for _, p := range prefixes {
		l.prefixes = append(l.prefixes, netip.MustParsePrefix(p))
	}
	return l
}

func TestTargets(t *testing.T) {
	const both = net.FlagMulticast | net.FlagBroadcast
	for name, c := range map[string]struct {
		link link
		want []string
	}{
		"no address": {fakeLink("eth0", both), nil},
		"IPv4":       {fakeLink("eth0", both, "192.0.2.9/24"), []string{"239.255.140.1", "192.0.2.255"}},
		"two networks": {fakeLink("eth0", both, "192.0.2.9/24", "10.1.2.3/12", "10.1.2.4/12"),
			[]string{"239.255.140.1", "192.0.2.255", "10.15.255.255"}},
		"IPv6": {fakeLink("eth0", both, "fe80::1/64", "2001:db8::1/64"), []string{"ff12::8000:36b1%eth0"}},
		"point to point": {fakeLink("ppp0", net.FlagMulticast|net.FlagPointToPoint, "10.0.0.1/32"),
			[]string{"239.255.140.1"}},
		"two hosts":    {fakeLink("eth0", both, "10.0.0.0/31"), []string{"239.255.140.1"}},
		"no multicast": {fakeLink("eth0", net.FlagBroadcast, "192.0.2.9/30", "fe80::1/64"), []string{"192.0.2.11"}},
		"loopback (Linux)": {fakeLink("lo", net.FlagLoopback, "127.0.0.1/8", "::1/128"),
			[]string{"239.255.140.1", "127.255.255.255", "ff12::8000:36b1%lo"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, a := range c.link.targets() {
				got = append(got, a.String())
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("the targets are %v, want %v", got, c.want)
			}
		})
	}
}

func TestReaches(t *testing.T) {
	l := fakeLink("eth0", net.FlagMulticast, "192.0.2.9/24", "2001:db8::1/64", "fe80::1/64")
	for addr, want := range map[string]bool{
		"192.0.2.9": true, "192.0.2.200": true, "192.0.3.1": false, "127.0.0.1": false, "0.0.0.0": false,
		"239.255.140.1": false,
		"2001:db8::77":  true, "2001:db8:1::1": false, "fe80::2%eth0": true, "fe80::2%eth1": false, "::1": false,
	} {
		if got := l.reaches(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s is on the link: %v, want %v", addr, got, want)
		}
	}
}

func TestRank(t *testing.T) {
	sorted := []string{"10.0.0.1", "2001:db8::1", "169.254.1.1", "fe80::1%eth0", "127.0.0.1", "::1"}
	for i, addr := range sorted {
		if got := rank(netip.MustParseAddr(addr)); got != i {
			t.Errorf("%s has rank %d, want %d", addr, got, i)
		}
	}
}

func TestBetter(t *testing.T) {
	heard := func(addr string, ping time.Duration) *candidate {
		return &candidate{addr: netip.MustParseAddr(addr), result: session.SearchResult{Ping: ping}}
	}
	for _, c := range []struct {
		better, worse *candidate
	}{
		{heard("192.0.2.1", 9), heard("2001:db8::1", 1)},
		{heard("192.0.2.1", 9), heard("192.0.2.2", 1)},
		{heard("192.0.2.1", 1), heard("192.0.2.1", 2)},
		{heard("192.0.2.1", 1), heard("127.0.0.1", 0)},
	} {
		if !c.better.better(c.worse) || c.worse.better(c.better) || c.better.better(c.better) {
			t.Errorf("%v (%v) should be better than %v (%v)", c.better.addr, c.better.result.Ping, c.worse.addr,
				c.worse.result.Ping)
		}
	}
}
