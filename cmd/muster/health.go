package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster"
)

const (
	healthTimeout   = 5 * time.Second // of the request
	maxHealthAnswer = 200             // bytes of an answer that are shown
)

// healthCommand checks a service where nothing else can send a request, such as in a container image without a shell.
func (a *app) healthCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "health",
		Short: "Check whether the service on this machine is ready",
		Long: `Check whether the service on this machine is ready: request /readyz at the address
of the setting listen, which flags, environment and file give as for "muster serve",
or at --url. The certificate of the service is not verified. The exit status is 0 if
it is ready, and 1 if it is not or does not answer within 5 seconds.`,
		Example: `  muster health
  muster health --config /etc/muster/muster.toml
  muster health --url http://127.0.0.1:3000/readyz   # the session gateway`,
		Args: cobra.NoArgs,
	}
	load := a.addSettings(command, muster.DefaultConfig())
	at := command.Flags().String("url", "", "URL to request (default: /readyz at the setting listen)")
	command.RunE = func(command *cobra.Command, _ []string) error {
		if *at == "" {
			config, _, err := load()
			if err != nil {
				return err
			}
			if *at, err = readinessURL(config); err != nil {
				return &misuseError{err}
			}
		}
		return a.checkHealth(command.Context(), *at)
	}
	return command
}

// readinessURL returns the URL of /readyz of a service with these settings on this machine.
func readinessURL(c muster.Config) (string, error) {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return "", fmt.Errorf("setting listen: %w", err)
	}
	if port == "0" {
		return "", errors.New("setting listen has port 0, which is any: give --url")
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	at := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/readyz"}
	if c.Plaintext == "refuse" {
		at.Scheme = "https"
	}
	return at.String(), nil
}

func (a *app) checkHealth(ctx context.Context, at string) error {
	text, err := requestHealth(ctx, at)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.stdout, text)
	return err
}

// requestHealth returns the answer of a service that is ready.
func requestHealth(ctx context.Context, at string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", &misuseError{err}
	}
	// Not verified: the certificate has the names that clients use, and the request has no secrets.
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", fmt.Errorf("%s: %w", at, err)
	}
	defer response.Body.Close()                                             //nolint:errcheck // it was only read
	answer, _ := io.ReadAll(io.LimitReader(response.Body, maxHealthAnswer)) // the status counts
	text := strings.TrimSpace(string(answer))
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s: %s", at, response.Status, text)
	}
	return text, nil
}
