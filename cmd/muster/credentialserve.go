package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/muster-gg/muster/internal/signin/container"
)

// anyPort is the address of muster credentials --serve without an address.
const anyPort = "127.0.0.1:0"

// serveKeys serves the keys of a profile's role to programs on this machine, until ctx ends. It prints the variables
// with which AWS clients find them.
func (s *ssoSession) serveKeys(ctx context.Context, address string) error {
	keys := func(ctx context.Context) (container.Credentials, error) {
		k, err := s.roleKeys(ctx)
		return container.Credentials{AccessKeyID: k.AccessKeyID, SecretAccessKey: k.SecretAccessKey,
			Token: k.SessionToken, Expiration: k.Expires}, err
	}
	if _, err := keys(ctx); err != nil {
		return err // now, and not at the first use
	}
	listener, err := listenOnThisMachine(address)
	if err != nil {
		return err
	}
	token := randomText(32)
	server := &http.Server{Handler: container.New(token, keys, s.time()), ReadTimeout: 10 * time.Second,
		WriteTimeout: ssoTimeout + 10*time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	fmt.Fprintf(s.stderr, "Serving keys of role %s until interrupted. Start programs with these variables:\n",
		s.profile.SSORoleName)
	fmt.Fprintf(s.stdout, "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://%s%s\nAWS_CONTAINER_AUTHORIZATION_TOKEN=%s\n",
		listener.Addr(), container.Path, token)
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve keys: %w", err)
	}
	return nil
}

// listenOnThisMachine listens on a loopback address: keys are sent unencrypted.
func listenOnThisMachine(address string) (net.Listener, error) {
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, &misuseError{fmt.Errorf("serve keys at %q: %w", address, err)}
	}
	if !a.IP.IsLoopback() {
		return nil, &misuseError{fmt.Errorf("serve keys at %q: the address must be on loopback, as 127.0.0.1:9911",
			address)}
	}
	return net.ListenTCP("tcp", a)
}
