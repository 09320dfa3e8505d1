// Package link chooses how the players of an arena and its server are connected: by the flags -transport and those that
// say which certificate is used.
package link

import (
	"fmt"
	"slices"
	"strings"
)

// The transports.
const (
	TCP  = "tcp"
	TLS  = "tls"
	QUIC = "quic"
)

var transports = []string{TCP, TLS, QUIC}

// check says whether there is such a transport.
func check(transport string) error {
	if transport != "" && !slices.Contains(transports, transport) {
		return fmt.Errorf("flag -transport: %q is none of %s", transport, strings.Join(transports, ", "))
	}
	return nil
}

// plain says whether a transport has no certificate.
func plain(transport string) bool { return transport == "" || transport == TCP }
