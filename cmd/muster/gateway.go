package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster"
)

func (a *app) gatewayCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "gateway",
		Short: "Run the session gateway alone, for a service elsewhere",
		Long: `Run the HTTP session gateway for game clients with any GameLift API: a Muster
elsewhere, AWS, or a GameLift Local (--gateway-legacy on). "muster serve" and
"muster dev" include a gateway, which need not poll.

Credentials are found as by the AWS SDK: AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or the role of the machine.`,
		Example: `  muster gateway --gateway-endpoint http://10.0.0.5:9080 --region us-west-2
  muster gateway --gateway-alias alias-1 --gateway-jwt-issuer https://id.example.com
  muster gateway --gateway-endpoint http://127.0.0.1:9870 --gateway-legacy on --region us-west-2`,
		Args: cobra.NoArgs,
	}
	load := addSettings(a, command, muster.DefaultStandaloneGateway(), settingNames(muster.DefaultConfig()))
	command.RunE = func(command *cobra.Command, _ []string) error {
		config, _, err := load()
		if err != nil {
			return err
		}
		config.Environ = a.environ
		config.Log = config.Logger(a.stderr)
		config.Ready = func(url string) { fmt.Fprintln(a.stdout, url) }
		return muster.RunGateway(command.Context(), config)
	}
	return command
}
