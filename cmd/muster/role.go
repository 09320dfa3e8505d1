package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/operator"
)

func (a *app) roleCommand() *cobra.Command {
	return parentCommand(help{
		use:   "role",
		short: "Manage roles, which people use after signing in",
		long: `Manage roles. A role has policies; people and groups to whom it is assigned get
temporary keys of it, and services that its trust policy names, too.`,
		example: `  muster role put GameDev --policy GameLiftBackend --max 4h
  muster assign @developers GameDev`,
	}, a.rolePutCommand(), a.roleListCommand(), a.roleShowCommand(),
		a.removeCommand("role", "roles", "Delete a role. Keys that were issued for it stop working."))
}

func (a *app) rolePutCommand() *cobra.Command {
	var in access.RoleInput
	var policyFile, trustFile string
	var longest time.Duration
	command := a.showCommand(help{
		use:   "put NAME",
		short: "Create or replace a role",
		long: `Create a role, or replace all of it. --policy names policies, built-in or stored ones;
--policy-file has one of the role alone. --trust has a policy in IAM's format that says
who may assume it without an assignment: users, roles, or tokens of identity providers.`,
		example: `  muster role put GameDev --policy GameLiftBackend --max 4h
  muster role put Deploy --policy-file deploy.json --trust github.json`,
	}, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) (err error) {
		in.Name, in.MaxDuration = args[0], int32(min(longest, 1<<20*time.Second)/time.Second)
		if policyFile != "" {
			document, err := a.readJSON(policyFile)
			if err != nil {
				return err
			}
			in.Inline = []access.InlineView{{Name: "inline", Document: document}}
		}
		if trustFile != "" {
			if in.Trust, err = a.readJSON(trustFile); err != nil {
				return err
			}
		}
		var role access.RoleView
		if err := o.send(ctx, http.MethodPut, path("roles", in.Name), in, &role); err != nil {
			return fmt.Errorf("put role %s: %w", in.Name, err)
		}
		return o.show(role, func(to io.Writer) { fmt.Fprintf(to, "Stored role %s.\n", role.Name) })
	})
	f := command.Flags()
	f.StringSliceVar(&in.Policies, "policy", nil, "policy of the role; may be repeated")
	f.StringVar(&policyFile, "policy-file", "", "file with a policy of this role alone")
	f.StringVar(&trustFile, "trust", "", "file with the trust policy")
	f.StringVar(&in.Description, "description", "", "what the role is for")
	f.DurationVar(&longest, "max", time.Hour, "longest time for which keys of the role are valid, 15m to 12h")
	return command
}

func (a *app) roleListCommand() *cobra.Command {
	return a.showCommand(help{
		use: "ls", short: "List roles", long: "List roles with their policies and who has them.",
		example: "  muster role ls",
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		var list operator.RoleList
		if err := o.ask(ctx, path("roles"), &list); err != nil {
			return fmt.Errorf("list the roles: %w", err)
		}
		return o.show(list, func(to io.Writer) {
			row(to, "NAME", "POLICIES", "LONGEST", "ASSIGNED TO", "TRUST")
			for _, r := range list.Roles {
				row(to, r.Name, policiesOf(&r), longestOf(&r), r.Subjects, len(r.Trust) > 0)
			}
		})
	})
}

func policiesOf(r *access.RoleView) []string {
	names := r.Policies
	for _, p := range r.Inline {
		names = append(names, p.Name+" (of the role)")
	}
	return names
}

// longestOf returns the longest time of a role's keys, as people write it: 12h, not 12h0m0s.
func longestOf(r *access.RoleView) string {
	text := (time.Duration(r.MaxDuration) * time.Second).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

func (a *app) roleShowCommand() *cobra.Command {
	return a.showCommand(help{
		use: "show NAME", short: "Show a role", long: "Show a role with its policies and its trust policy.",
		example: "  muster role show GameDev",
	}, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		var r access.RoleView
		if err := o.ask(ctx, path("roles", args[0]), &r); err != nil {
			return fmt.Errorf("show role %s: %w", args[0], err)
		}
		return o.show(r, func(to io.Writer) {
			row(to, "name", r.Name)
			row(to, "description", r.Description)
			row(to, "ARN", r.Arn)
			row(to, "policies", policiesOf(&r))
			row(to, "longest", longestOf(&r))
			row(to, "assigned to", r.Subjects)
			for _, p := range r.Inline {
				fmt.Fprintf(to, "\npolicy %s\n%s\n", p.Name, indented(p.Document))
			}
			if len(r.Trust) > 0 {
				fmt.Fprintf(to, "\ntrust policy\n%s\n", indented(r.Trust))
			}
		})
	})
}

// indented formats a JSON document for people.
func indented(document json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, document, "", "  ") != nil {
		return string(document)
	}
	return out.String()
}

func (a *app) assignCommand() *cobra.Command {
	return a.operatorCommand(help{
		use: "assign USER|@GROUP ROLE", short: "Assign a role to a user or a group",
		long:    "Assign a role to a user, or to all members of a group, who then may use it.",
		example: "  muster assign ada GameDev\n  muster assign @developers GameLiftReadOnly",
	}, cobra.ExactArgs(2), func(ctx context.Context, o *operatorCall, args []string) error {
		if err := o.send(ctx, http.MethodPut, path("assignments", args[1], args[0]), nil, nil); err != nil {
			return fmt.Errorf("assign role %s: %w", args[1], err)
		}
		return o.say("Assigned role %s to %s.", args[1], args[0])
	})
}

func (a *app) unassignCommand() *cobra.Command {
	return a.operatorCommand(help{
		use: "unassign USER|@GROUP ROLE", short: "Take a role from a user or a group",
		long:    "Remove the assignment of a role. Keys that were issued for it stop working.",
		example: "  muster unassign ada GameDev",
	}, cobra.ExactArgs(2), func(ctx context.Context, o *operatorCall, args []string) error {
		if err := o.send(ctx, http.MethodDelete, path("assignments", args[1], args[0]), nil, nil); err != nil {
			return fmt.Errorf("remove the assignment of role %s: %w", args[1], err)
		}
		return o.say("Role %s is not assigned to %s any more.", args[1], args[0])
	})
}
