package main

import (
	"encoding/json"
	"time"

	"github.com/spf13/cobra"
)

// processCredentials are the answer of a credential process. Source: AWS SDKs and Tools reference guide, "Process
// credential provider".
type processCredentials struct {
	Version      int
	AccessKeyID  string `json:"AccessKeyId"`
	SecretKey    string `json:"SecretAccessKey"`
	SessionToken string
	Expiration   time.Time
}

func (a *app) credentialsCommand() *cobra.Command {
	var profile, serve string
	command := &cobra.Command{
		Use:   "credentials",
		Short: "Print temporary keys of a profile, for AWS tools",
		Long: `Print temporary keys of the role of a profile as JSON, for the setting
credential_process of the AWS tools. It works in any tool, also in those that know no
sso-session. The session of "muster login" is refreshed when less than 15 minutes of its
token are left. Several processes may run at once.

With --serve it runs on and serves the keys to containers and game servers on this
machine: it prints the two variables with which their AWS SDKs find them.`,
		Example: `  muster credentials --profile muster
  # in ~/.aws/config:
  [profile games]
  credential_process = muster credentials --profile muster
  # for a container in the network of the host, which is started in another terminal:
  muster credentials --serve > keys.env
  docker run --network host --env-file keys.env game`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			s, err := a.sessionOf(command.Context(), profile)
			if err != nil {
				return err // the status for misuse would not help a program
			}
			if serve != "" {
				return s.serveKeys(command.Context(), serve)
			}
			keys, err := s.roleKeys(command.Context())
			if err != nil {
				return err
			}
			return json.NewEncoder(a.stdout).Encode(processCredentials{1, keys.AccessKeyID, keys.SecretAccessKey,
				keys.SessionToken, keys.Expires})
		},
	}
	a.addProfile(command, &profile)
	command.Flags().StringVar(&serve, "serve", "", "serve the keys on loopback, at ADDRESS or a free port")
	command.Flags().Lookup("serve").NoOptDefVal = anyPort
	return command
}
