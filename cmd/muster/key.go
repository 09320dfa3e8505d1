package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/operator"
)

func (a *app) keyCommand() *cobra.Command {
	return parentCommand(help{
		use:   "key",
		short: "Manage access keys",
		long: `Manage access keys, for scripts and servers. People should sign in instead: their keys
are temporary.`,
		example: `  muster key create --service ci --policy GameLiftFleetHost --expires 90d
  muster key ls`,
	}, a.keyCreateCommand(), a.keyListCommand(), a.keyStatusCommand(false), a.keyStatusCommand(true),
		a.keyRotateCommand(), a.keyRemoveCommand())
}

func (a *app) keyCreateCommand() *cobra.Command {
	var in access.KeyInput
	var policyFile string
	var lifetime days
	command := a.showCommand(help{
		use:   "create",
		short: "Create an access key",
		long: `Create an access key of a user (your own without --user), or of a service account,
which is added if there is none. The secret is shown once.

A new service account gets the policies. In all other cases they narrow the key: it may
do what both its owner and the policies allow.`,
		example: `  muster key create --service ci --policy GameLiftFleetHost --expires 90d
  muster key create --user ada --policy GameLiftReadOnly`,
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) (err error) {
		if policyFile != "" {
			if in.Document, err = a.readJSON(policyFile); err != nil {
				return err
			}
		}
		if lifetime > 0 {
			in.Expires = new(a.now().Add(time.Duration(lifetime)).UTC().Truncate(time.Second))
		}
		var made access.KeyCreated
		if err := o.send(ctx, http.MethodPost, path("keys"), in, &made); err != nil {
			return fmt.Errorf("create an access key: %w", err)
		}
		return o.showKey(&made)
	})
	f := command.Flags()
	f.StringVar(&in.User, "user", "", "owner of the key (default: you)")
	f.StringVar(&in.Service, "service", "", "service account that owns the key")
	f.StringVar(&in.Name, "name", "", "what the key is for")
	f.StringSliceVar(&in.Policies, "policy", nil, "policy of the key; may be repeated")
	f.StringVar(&policyFile, "policy-file", "", "file with a policy of this key alone")
	f.Var(&lifetime, "expires", "how long the key works (default: until it is deleted)")
	command.MarkFlagsMutuallyExclusive("user", "service")
	return command
}

// showKey prints a new key, with its secret.
func (o *operatorCall) showKey(k *access.KeyCreated) error {
	err := o.show(k, func(to io.Writer) {
		fmt.Fprint(to, exports([]variable{{"AWS_ACCESS_KEY_ID", k.ID}, {secretKey, k.Secret}}))
	})
	if !o.asJSON {
		fmt.Fprintln(o.stderr, "muster: keep the secret: it is not shown again")
	}
	return err
}

func (a *app) keyListCommand() *cobra.Command {
	var user string
	command := a.showCommand(help{
		use: "ls", short: "List access keys",
		long: `List access keys. NARROWED BY are policies of the key itself: it may do what both its owner
and they allow. "muster user show OWNER" has what the owner may do. LAST USED is the hour
of the last use.`,
		example: "  muster key ls\n  muster key ls --user ada",
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		target := path("keys")
		if user != "" {
			target += "?" + url.Values{"user": {user}}.Encode()
		}
		var list operator.KeyList
		if err := o.ask(ctx, target, &list); err != nil {
			return fmt.Errorf("list the access keys: %w", err)
		}
		return o.show(list, func(to io.Writer) {
			row(to, "ID", "OWNER", "STATUS", "NAME", "NARROWED BY", "CREATED", "EXPIRES", "LAST USED")
			for _, k := range list.Keys {
				policies := k.Policies
				if len(k.Document) > 0 {
					policies = append(policies, "(of the key)")
				}
				row(to, k.ID, k.Owner, k.Status, k.Name, policies, k.Created, k.Expires, hourOf(k.LastUsed))
			}
		})
	})
	command.Flags().StringVar(&user, "user", "", "only the keys of this user")
	return command
}

// hourOf returns an hour, which the service stores, without minutes that look exact.
func hourOf(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02 15h")
}

func (a *app) keyStatusCommand(active bool) *cobra.Command {
	h := help{use: "disable ID", short: "Refuse an access key from now on",
		long:    "Refuse an access key from now on, on all nodes. It can be enabled again.",
		example: "  muster key disable AKIAEXAMPLE"}
	status, done := access.Inactive, "Disabled"
	if active {
		h = help{use: "enable ID", short: "Accept a disabled access key again",
			long: "Accept a disabled access key again.", example: "  muster key enable AKIAEXAMPLE"}
		status, done = access.Active, "Enabled"
	}
	return a.operatorCommand(h, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		err := o.send(ctx, http.MethodPatch, path("keys", args[0]), access.KeyPatch{Status: &status}, nil)
		if err != nil {
			return fmt.Errorf("change access key %s: %w", args[0], err)
		}
		return o.say("%s access key %s.", done, args[0])
	})
}

func (a *app) keyRotateCommand() *cobra.Command {
	return a.showCommand(help{
		use: "rotate ID", short: "Replace an access key",
		long:    "Replace an access key by a new one of the same owner and limits. The old one stops at once.",
		example: "  muster key rotate AKIAEXAMPLE",
	}, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		var made access.KeyCreated
		if err := o.send(ctx, http.MethodPost, path("keys", args[0], "rotate"), nil, &made); err != nil {
			return fmt.Errorf("rotate access key %s: %w", args[0], err)
		}
		return o.showKey(&made)
	})
}

func (a *app) keyRemoveCommand() *cobra.Command {
	command := a.removeCommand("key", "keys", "Delete an access key.")
	command.Use, command.Example = "rm ID", "  muster key rm AKIAEXAMPLE"
	return command
}
