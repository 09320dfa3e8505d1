package session

import (
	"net"
	"strconv"
	"strings"
)

// managedSuffix is what the DNS names end in that GameLift makes for hosts with certificates. Source: O3DE AWSGameLift
// Gem, AWSGameLiftJoinSessionActivity.
const managedSuffix = ".amazongamelift.com"

func address(dnsName, ip string, port int) string {
	host := ip
	if dnsName != "" && (ip == "" || strings.HasSuffix(dnsName, managedSuffix)) {
		host = dnsName
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// localIP is the first address of this machine that others can reach it at.
func localIP() string {
	addresses, _ := net.InterfaceAddrs() // without them: the loopback
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}
