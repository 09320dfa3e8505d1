package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

func (a *app) logoutCommand() *cobra.Command {
	var profile string
	command := &cobra.Command{
		Use:   "logout",
		Short: "End the sign-in session of a profile",
		Long: `End the sign-in session of a profile on the service, and delete its token from
~/.aws/sso/cache, with the keys of its role that AWS CLI 2 has cached. Temporary keys
that were issued in the session stop working, too.`,
		Example: `  muster logout
  muster logout --profile staging`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			s, err := a.sessionOf(command.Context(), profile)
			if err != nil {
				return &misuseError{err}
			}
			return s.signOut(command.Context())
		},
	}
	a.addProfile(command, &profile)
	return command
}

// signOut ends the session. The token is deleted also if the service cannot be reached.
func (s *ssoSession) signOut(ctx context.Context) error {
	t, err := s.load()
	if err != nil {
		fmt.Fprintf(s.stdout, "Profile %s has no session.\n", s.profile.Profile)
		return errors.Join(removeFile(s.file), s.forgetRoleKeys())
	}
	err = s.client.logout(ctx, t.AccessToken)
	if failure, ok := errors.AsType[*ssoError](err); ok && failure.Status == http.StatusUnauthorized {
		err = nil // it had ended
	}
	if err != nil {
		err = fmt.Errorf("the token is deleted, but the session was not ended on the service: %w", err)
	}
	if err := errors.Join(err, removeFile(s.file), s.forgetRoleKeys()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.stdout, "Signed out of %s.\n", s.client.oidc)
	return err
}
