package session

import (
	"net"
	"strconv"
	"strings"
)

// managedSuffix ends the DNS names that GameLift creates for hosts with certificates. Source: O3DE AWSGameLift Gem,
// AWSGameLiftJoinSessionActivity.
const managedSuffix = ".amazongamelift.com"

func address(dnsName, ip string, port int) string {
	host := ip
	if dnsName != "" && (ip == "" || strings.HasSuffix(dnsName, managedSuffix)) {
		host = dnsName
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// localIP returns the first IPv4 address at which other machines can reach this one, or the loopback address.
func localIP() string {
	addresses, _ := net.InterfaceAddrs() // without them: the loopback
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}
