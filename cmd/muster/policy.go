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

func (a *app) policyCommand() *cobra.Command {
	return parentCommand(help{
		use:   "policy",
		short: "Manage policies, and check what they allow",
		long: `Manage policies in IAM's format. They are used by roles, users and access keys. The
built-in ones begin with GameLift, Muster or Gateway.`,
		example: `  muster policy put arena-ops arena-ops.json
  muster policy check ada gamelift:CreateGameSession
  muster policy show GameLiftBackend`,
	}, a.policyPutCommand(), a.policyListCommand(), a.policyShowCommand(), a.policyCheckCommand(),
		a.removeCommand("policy", "policies", "Delete a policy that no role, user or access key uses."))
}

func (a *app) policyPutCommand() *cobra.Command {
	var in operator.PolicyInput
	command := a.showCommand(help{
		use:   "put NAME FILE",
		short: "Create or replace a policy",
		long: `Create a policy from a file, or replace it; "-" reads standard input. Unknown actions,
operators and keys are errors, because they would have no effect. --allow-unknown stores
a policy that was written for other services, too, and lists what has no effect.`,
		example: `  muster policy put arena-ops arena-ops.json`,
	}, cobra.ExactArgs(2), func(ctx context.Context, o *operatorCall, args []string) (err error) {
		if in.Document, err = a.readJSON(args[1]); err != nil {
			return err
		}
		var stored access.PolicyView
		if err := o.send(ctx, http.MethodPut, path("policies", args[0]), in, &stored); err != nil {
			return fmt.Errorf("put policy %s: %w", args[0], err)
		}
		return o.show(stored, func(to io.Writer) {
			fmt.Fprintf(to, "Stored policy %s, version %d.\n", args[0], stored.Version)
			for _, what := range stored.Ignored {
				fmt.Fprintf(to, "Without effect: %s\n", what)
			}
		})
	})
	command.Flags().StringVar(&in.Description, "description", "", "what the policy is for")
	command.Flags().BoolVar(&in.AllowUnknown, "allow-unknown", false, "store parts that have no effect")
	return command
}

func (a *app) policyListCommand() *cobra.Command {
	return a.showCommand(help{
		use: "ls", short: "List policies", long: "List built-in and stored policies, and what uses them.",
		example: "  muster policy ls",
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		var list operator.PolicyList
		if err := o.ask(ctx, path("policies"), &list); err != nil {
			return fmt.Errorf("list the policies: %w", err)
		}
		return o.show(list, func(to io.Writer) {
			row(to, "NAME", "BUILT IN", "VERSION", "UPDATED", "USED BY", "DESCRIPTION")
			for _, p := range list.Policies {
				version := ""
				if !p.Builtin {
					version = fmt.Sprint(p.Version)
				}
				row(to, p.Name, p.Builtin, version, p.Updated, p.UsedBy, p.Description)
			}
		})
	})
}

func (a *app) policyShowCommand() *cobra.Command {
	return a.showCommand(help{
		use: "show NAME", short: "Print the document of a policy",
		long:    "Print the document of a policy, for a file of \"muster policy put\".",
		example: "  muster policy show GameLiftBackend > backend.json",
	}, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		var p access.PolicyView
		if err := o.ask(ctx, path("policies", args[0]), &p); err != nil {
			return fmt.Errorf("show policy %s: %w", args[0], err)
		}
		return o.show(p, func(to io.Writer) { fmt.Fprintln(to, indented(p.Document)) })
	})
}

func (a *app) policyCheckCommand() *cobra.Command {
	var conditions []string
	command := a.showCommand(help{
		use:   "check USER|role/ROLE|KEY ACTION [RESOURCE]",
		short: "Say whether a call would be allowed, and why",
		long: `Say whether a user, a role or an access key may make a call, and which statement
decides. Nothing is called. RESOURCE is an ARN; without it the call names none. The exit
status is 0 if the call is allowed, and 1 if it is denied.`,
		example: `  muster policy check ada gamelift:CreateGameSession
  muster policy check role/GameDev gamelift:DeleteFleet arn:aws:gamelift:us-west-2:111122223333:fleet/fleet-1
  muster policy check AKIAEXAMPLE gamelift:ListFleets --condition aws:SourceIp=192.0.2.1`,
	}, cobra.RangeArgs(2, 3), func(ctx context.Context, o *operatorCall, args []string) error {
		in := access.Check{Who: args[0], Action: args[1], Context: map[string]string{}}
		if len(args) == 3 {
			in.Resource = args[2]
		}
		for _, c := range conditions {
			key, value, ok := strings.Cut(c, "=")
			if !ok {
				return &misuseError{fmt.Errorf("--condition is %q: must be KEY=VALUE", c)}
			}
			in.Context[key] = value
		}
		var result access.CheckResult
		if err := o.send(ctx, http.MethodPost, path("policies", "check"), in, &result); err != nil {
			return fmt.Errorf("check %s: %w", args[0], err)
		}
		err := o.show(result, func(to io.Writer) {
			decision := "denied"
			if result.Allowed {
				decision = "allowed"
			}
			fmt.Fprintf(to, "%s: %s\n", decision, result.Reason)
		})
		if err == nil && !result.Allowed {
			return errShown
		}
		return err
	})
	command.Flags().StringArrayVar(&conditions, "condition", nil,
		"condition key of the call, KEY=VALUE; may be repeated")
	return command
}
