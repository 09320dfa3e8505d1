package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/operator"
)

func (a *app) providerCommand() *cobra.Command {
	return parentCommand(help{
		use:   "provider",
		short: "Manage identity providers",
		long: `Manage identity providers (OpenID Connect): by which people sign in, and whose tokens
give roles to machines (CI, Kubernetes).`,
		example: `  muster provider add corp --issuer https://id.example.com/realms/corp --client-id muster \
    --client-secret-file secret --sign-in
  muster provider add github --issuer https://token.actions.githubusercontent.com \
    --audience sts.amazonaws.com`,
	}, a.providerAddCommand(), a.providerListCommand(), a.localPasswordsCommand(),
		a.removeCommand("provider", "providers",
			"Delete an identity provider. Its users stay, and can no longer sign in by it."))
}

func (a *app) providerAddCommand() *cobra.Command {
	var in access.ProviderInput
	var secretFile, keysFile string
	var groups []string
	command := a.showCommand(help{
		use:   "add NAME",
		short: "Add or replace an identity provider",
		long: `Add an identity provider, or replace its settings. The client secret stays if
--client-secret-file is missing.

Unknown people are refused, unless --create: then those with a verified address in a
--domain, or in an --allowed-group, become users at their first sign-in. The groups of a
person follow from --group-claim and --map at each sign-in.

The redirect URI to register at the provider is URL/signin/oidc/NAME/callback, where URL is the
public URL of this service.`,
		example: `  muster provider add corp --issuer https://id.example.com/realms/corp --client-id muster \
    --client-secret-file secret --sign-in --group-claim groups --map game-devs=developers \
    --create --domain example.com`,
	}, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) (err error) {
		in.Name = args[0]
		if in.Groups, err = groupMap(groups); err != nil {
			return err
		}
		if secretFile != "" {
			text, err := a.readFile(secretFile)
			if err != nil {
				return err
			}
			in.ClientSecret = strings.TrimRight(string(text), "\r\n")
		}
		if keysFile != "" {
			if in.Keys, err = a.readJSON(keysFile); err != nil {
				return err
			}
		}
		var p access.ProviderView
		if err := o.send(ctx, http.MethodPut, path("providers", in.Name), in, &p); err != nil {
			return fmt.Errorf("add provider %s: %w", in.Name, err)
		}
		return o.show(p, func(to io.Writer) { fmt.Fprintf(to, "Stored provider %s of %s.\n", p.Name, p.Issuer) })
	})
	f := command.Flags()
	f.StringVar(&in.Issuer, "issuer", "", "URL of the provider, exactly as in its tokens (required)")
	f.StringVar(&in.ClientID, "client-id", "", "id of this service at the provider")
	f.StringVar(&secretFile, "client-secret-file", "", "file with the client secret")
	f.StringSliceVar(&in.Audiences, "audience", nil, "accepted audience of tokens of machines; may be repeated")
	f.StringSliceVar(&in.Scopes, "scope", nil, "scope to ask for; may be repeated (default openid, email, profile)")
	f.StringVar(&in.GroupClaim, "group-claim", "", "claim with the groups of a person")
	f.StringSliceVar(&groups, "map", nil, "group of the provider and of this service, CLAIM=GROUP; may be repeated")
	f.StringVar(&keysFile, "jwks", "", "file with the provider's keys, for machines without internet")
	f.BoolVar(&in.SignIn, "sign-in", false, "people sign in by it")
	f.BoolVar(&in.Create, "create", false, "unknown people become users at their first sign-in")
	f.StringSliceVar(&in.Domains, "domain", nil, "domain of verified addresses, for --create; may be repeated")
	f.StringSliceVar(&in.AllowedGroups, "allowed-group", nil, "group of the provider, for --create; may be repeated")
	_ = command.MarkFlagRequired("issuer") // the flag exists
	return command
}

// groupMap parses CLAIM=GROUP.
func groupMap(texts []string) (groups []access.GroupInput, err error) {
	for _, text := range texts {
		claim, group, ok := strings.Cut(text, "=")
		if !ok || claim == "" || group == "" {
			return nil, &misuseError{fmt.Errorf("--map is %q: must be CLAIM=GROUP", text)}
		}
		groups = append(groups, access.GroupInput{Claim: claim, Group: group})
	}
	return groups, nil
}

func (a *app) providerListCommand() *cobra.Command {
	return a.showCommand(help{
		use: "ls", short: "List identity providers", long: "List identity providers.", example: "  muster provider ls",
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		var list operator.ProviderList
		if err := o.ask(ctx, path("providers"), &list); err != nil {
			return fmt.Errorf("list the providers: %w", err)
		}
		return o.show(list, func(to io.Writer) {
			row(to, "NAME", "ISSUER", "SIGN-IN", "CREATES USERS", "CLIENT", "AUDIENCES", "GROUP CLAIM")
			for _, p := range list.Providers {
				row(to, p.Name, p.Issuer, p.SignIn, p.Create, p.ClientID, p.Audiences, p.GroupClaim)
			}
		})
	})
}

func (a *app) localPasswordsCommand() *cobra.Command {
	return a.operatorCommand(help{
		use:   "local-passwords on|off",
		short: "Accept or refuse passwords of this service",
		long: `Accept passwords of this service for signing in, or refuse them, so that people sign in
by an identity provider alone. There must be one for "off".`,
		example: "  muster provider local-passwords off",
	}, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		on := args[0] == "on"
		if !on && args[0] != "off" {
			return &misuseError{fmt.Errorf("%q must be on or off", args[0])}
		}
		patch := operator.SettingsPatch{LocalPasswords: &on}
		err := o.send(ctx, http.MethodPatch, path("settings", "sign-in"), patch, nil)
		if err != nil {
			return fmt.Errorf("change the settings: %w", err)
		}
		if on {
			return o.say("Passwords are accepted.")
		}
		return o.say("Passwords are refused.")
	})
}
