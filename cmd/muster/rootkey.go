package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/operator"
)

func (a *app) rootKeyCommand() *cobra.Command {
	return parentCommand(help{
		use:   "root-key",
		short: "Replace the root key, also a lost one",
		long: `Replace the root key, which the service created at its first start. It may do
everything, and no policy can deny it anything: use it to add people, then keep it for
emergencies.`,
		example: `  muster root-key rotate
  muster root-key recover --data /var/lib/muster`,
	}, a.rootKeyRotateCommand(), a.rootKeyRecoverCommand())
}

func (a *app) rootKeyRotateCommand() *cobra.Command {
	return a.showCommand(help{
		use: "rotate", short: "Replace the root key",
		long:    "Replace the root key. The old one stops at once. The secret of the new one is shown once.",
		example: "  muster root-key rotate",
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		var made access.KeyCreated
		if err := o.send(ctx, http.MethodPost, path("root-key", "rotate"), nil, &made); err != nil {
			return fmt.Errorf("rotate the root key: %w", err)
		}
		return o.showKey(&made)
	})
}

// localService is the default address of a service on this machine.
const localService = "http://127.0.0.1:9080"

func (a *app) rootKeyRecoverCommand() *cobra.Command {
	o := &operatorCall{app: a}
	var data string
	command := &cobra.Command{
		Use:   "recover",
		Short: "Replace a lost root key, on the machine of the service",
		Long: `Replace a lost root key on the machine of the running service. No key is needed: who
can read region.secret in the data directory can decrypt all its data anyway. The old
root key stops at once, the secret of the new one is shown once, and the audit trail has
a record. The certificate of the service is not verified.`,
		Example: `  sudo -u muster muster root-key recover --data /var/lib/muster
  muster root-key recover --data ~/.cache/muster/dev --endpoint https://127.0.0.1:9080`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if data == "" {
				return &misuseError{errors.New("--data is missing: name the data directory of the service")}
			}
			if err := checkLoopback(o.service); err != nil {
				return &misuseError{err}
			}
			made, err := o.recoverRootKey(command.Context(), data)
			if err != nil {
				return fmt.Errorf("recover the root key: %w", err)
			}
			return o.showKey(made)
		},
	}
	command.Flags().StringVar(&data, "data", "", "data directory of the service (required)")
	command.Flags().StringVar(&o.service, "endpoint", localService, "base URL of the service on this machine")
	command.Flags().BoolVar(&o.asJSON, "json", false, "print JSON")
	return command
}

// checkLoopback refuses an endpoint on another machine, which would receive the proof.
func checkLoopback(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--endpoint is %q: must be on this machine, like %s", endpoint, localService)
	}
	return nil
}

// recoverRootKey proves that it can read the region's secret, to a service on this machine: see checkLoopback.
func (o *operatorCall) recoverRootKey(ctx context.Context, data string) (*access.KeyCreated, error) {
	secret, err := os.ReadFile(filepath.Join(data, "region.secret"))
	if err != nil {
		return nil, err
	}
	secrets, err := credentials.New(secret)
	if err != nil {
		return nil, err
	}
	// Not verified, as over http: a certificate of the operator has the names that clients use, not this one.
	o.tls = &tls.Config{InsecureSkipVerify: true}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		strings.TrimSuffix(o.service, "/")+path("root-key", "recover"), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set(operator.RecoveryHeader, secrets.Proof(o.now()))
	made := new(access.KeyCreated)
	return made, o.perform(request, decodeTo(made))
}

func (a *app) secretCommand() *cobra.Command {
	return parentCommand(help{
		use:     "secret",
		short:   "Rotate the secrets of sign-in",
		long:    "Rotate the secrets of sign-in, from which tokens and temporary keys are made.",
		example: "  muster secret rotate",
	}, a.secretRotateCommand())
}

func (a *app) secretRotateCommand() *cobra.Command {
	return a.showCommand(help{
		use:   "rotate",
		short: "Start new secrets of sign-in",
		long: `Start a new epoch: tokens and temporary keys are made with new secrets. What was issued
before works until it expires. region.secret stays as it is.`,
		example: "  muster secret rotate",
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		var settings access.SettingsView
		if err := o.send(ctx, http.MethodPost, path("secret", "rotate"), nil, &settings); err != nil {
			return fmt.Errorf("rotate the secrets: %w", err)
		}
		return o.show(settings, func(to io.Writer) {
			row(to, "EPOCH", "CREATED", "ACCEPTED UNTIL")
			for _, e := range settings.Epochs {
				row(to, e.Number, e.Created, e.Ends)
			}
		})
	})
}
