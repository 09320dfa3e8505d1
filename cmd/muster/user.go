package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/operator"
)

func (a *app) userCommand() *cobra.Command {
	return parentCommand(help{
		use:   "user",
		short: "Manage people and service accounts",
		long: `Add people, who sign in, and service accounts, which only have access keys. What they
may do follows from their roles: see "muster assign" and "muster role".`,
		example: `  muster user add ada --group developers --invite
  muster assign ada GameDev
  muster user ls`,
	}, a.userAddCommand(), a.userListCommand(), a.userShowCommand(), a.userDisableCommand(true),
		a.userDisableCommand(false), a.userRemoveCommand(), a.userPasswordCommand(), a.userSessionsCommand(),
		a.userSignOutCommand())
}

func (a *app) userAddCommand() *cobra.Command {
	var in access.UserInput
	var fromStdin bool
	command := a.showCommand(help{
		use:   "add NAME",
		short: "Add a person or a service account",
		long: `Add a person. --invite prints a link, once, by which the person sets a password
("muster user passwd" prints another one); --password-stdin reads a
password from standard input. Without either the person signs in by an identity provider.`,
		example: `  muster user add ada --email ada@example.com --group developers --invite
  muster user add ci --service`,
	}, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) (err error) {
		in.Name = args[0]
		if fromStdin {
			if in.Password, err = a.readPassword(); err != nil {
				return err
			}
		}
		var made access.UserCreated
		if err := o.send(ctx, http.MethodPost, path("users"), in, &made); err != nil {
			return fmt.Errorf("add user %s: %w", in.Name, err)
		}
		return o.showInvited("Added", &made)
	})
	f := command.Flags()
	f.StringVar(&in.Email, "email", "", "email address, to recognise the person; it gives no access")
	f.StringVar(&in.DisplayName, "display-name", "", "name as people write it")
	f.StringSliceVar(&in.Groups, "group", nil, "group to join; may be repeated")
	f.BoolVar(&in.Service, "service", false, "a service account: it cannot sign in")
	f.BoolVar(&in.Invite, "invite", false, "print a link by which the person sets a password")
	f.BoolVar(&fromStdin, "password-stdin", false, "read the password from standard input")
	command.MarkFlagsMutuallyExclusive("service", "invite", "password-stdin")
	return command
}

// readPassword reads the first line of standard input.
func (a *app) readPassword() (string, error) {
	text, err := a.readFile("-")
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", errors.New("standard input has no password")
	}
	return line, nil
}

// showInvited prints a user with the link of its invitation.
func (o *operatorCall) showInvited(done string, u *access.UserCreated) error {
	return o.show(u, func(to io.Writer) {
		fmt.Fprintf(to, "%s %s.\n", done, u.Name)
		if u.Invite != "" {
			fmt.Fprintf(to, "Pass on this link, which works once, until %s:\n%s\n", cellText(u.InviteEnds), u.Invite)
		}
	})
}

func (a *app) userListCommand() *cobra.Command {
	return a.showCommand(help{
		use: "ls", short: "List users", long: "List people and service accounts with their groups and roles.",
		example: "  muster user ls\n  muster user ls --json",
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		var all, page operator.UserList
		for {
			page = operator.UserList{}
			query := url.Values{"limit": {"1000"}, "after": {all.After}}
			if err := o.ask(ctx, "/v1/users?"+query.Encode(), &page); err != nil {
				return fmt.Errorf("list the users: %w", err)
			}
			all.Users, all.After = append(all.Users, page.Users...), page.After
			if page.After == "" {
				break
			}
		}
		return o.show(all, func(to io.Writer) {
			row(to, "NAME", "KIND", "STATUS", "SIGNS IN BY", "GROUPS", "ROLES", "EMAIL")
			for _, u := range all.Users {
				row(to, u.Name, kindOf(&u), statusOf(&u), signsInBy(&u), append(u.Groups, u.ExternalGroups...), u.Roles,
					u.Email)
			}
		})
	})
}

func kindOf(u *access.UserView) string {
	if u.Service {
		return "service"
	}
	return "person"
}

func statusOf(u *access.UserView) string {
	switch {
	case u.Disabled:
		return "disabled"
	case u.InviteEnds != nil:
		return "invited"
	}
	return "active"
}

// signsInBy says how a person signs in.
func signsInBy(u *access.UserView) []string {
	var ways []string
	if u.HasPassword {
		ways = append(ways, "password")
	}
	if u.Provider != "" {
		ways = append(ways, u.Provider)
	}
	return ways
}

func (a *app) userShowCommand() *cobra.Command {
	return a.showCommand(help{
		use: "show NAME", short: "Show a user",
		long:    "Show a user with its groups, roles and own policies.",
		example: "  muster user show ada",
	}, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		var u access.UserView
		if err := o.ask(ctx, path("users", args[0]), &u); err != nil {
			return fmt.Errorf("show user %s: %w", args[0], err)
		}
		return o.show(u, func(to io.Writer) {
			row(to, "name", u.Name)
			row(to, "display name", u.DisplayName)
			row(to, "email", u.Email)
			row(to, "kind", kindOf(&u))
			row(to, "status", statusOf(&u))
			row(to, "signs in by", signsInBy(&u))
			row(to, "groups", u.Groups)
			row(to, "groups of the provider", u.ExternalGroups)
			row(to, "roles", u.Roles)
			row(to, "attached policies", u.Attached)
			for _, p := range u.Policies {
				row(to, "own policy", p.Name, string(p.Document))
			}
			row(to, "ARN", u.Arn)
			row(to, "id", u.ID)
			row(to, "created", u.Created)
		})
	})
}

func (a *app) userDisableCommand(disable bool) *cobra.Command {
	h := help{use: "enable NAME", short: "Enable a disabled user",
		long: `Enable a disabled user. Sessions and temporary keys that were issued before stay
refused; access keys work again.`,
		example: "  muster user enable ada"}
	if disable {
		h = help{use: "disable NAME", short: "Disable a user at once",
			long:    "Disable a user at once: sign-in, sessions, temporary keys and access keys are refused.",
			example: "  muster user disable ada"}
	}
	return a.operatorCommand(h, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		err := o.send(ctx, http.MethodPatch, path("users", args[0]), access.UserPatch{Disabled: &disable}, nil)
		if err != nil {
			return fmt.Errorf("change user %s: %w", args[0], err)
		}
		if disable {
			return o.say("Disabled %s.", args[0])
		}
		return o.say("Enabled %s.", args[0])
	})
}

func (a *app) userRemoveCommand() *cobra.Command {
	return a.removeCommand("user", "users", "Delete a user, its access keys, its assignments and its sessions.")
}

// removeCommand returns the command rm of a kind of thing.
func (a *app) removeCommand(kind, collection, long string) *cobra.Command {
	return a.operatorCommand(help{
		use: "rm NAME", short: "Delete a " + kind, long: long, example: "  muster " + kind + " rm NAME",
	}, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		if err := o.send(ctx, http.MethodDelete, path(collection, args[0]), nil, nil); err != nil {
			return fmt.Errorf("delete %s %s: %w", kind, args[0], err)
		}
		return o.say("Deleted %s %s.", kind, args[0])
	})
}

func (a *app) userPasswordCommand() *cobra.Command {
	var fromStdin bool
	command := a.showCommand(help{
		use:   "passwd NAME",
		short: "Set a password, or print a link by which the person sets it",
		long: `Print a link, once, by which a person sets a new password. The old one works until
then. With --password-stdin set the password that standard input has.`,
		example: `  muster user passwd ada`,
	}, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		patch := access.UserPatch{Invite: !fromStdin}
		if fromStdin {
			password, err := a.readPassword()
			if err != nil {
				return err
			}
			patch.Password = &password
		}
		var changed access.UserCreated
		if err := o.send(ctx, http.MethodPatch, path("users", args[0]), patch, &changed); err != nil {
			return fmt.Errorf("change user %s: %w", args[0], err)
		}
		if fromStdin {
			return o.showInvited("Set the password of", &changed)
		}
		return o.showInvited("Invited", &changed)
	})
	command.Flags().BoolVar(&fromStdin, "password-stdin", false, "read the password from standard input")
	return command
}

// signInsOf returns the path of a user's sign-in sessions, and whose they are; without a name, those of the caller.
func signInsOf(args []string) (address, whose string) {
	if len(args) == 0 {
		return path("me", "sign-ins"), ""
	}
	return path("users", args[0], "sign-ins"), " of " + args[0]
}

func (a *app) userSessionsCommand() *cobra.Command {
	return a.showCommand(help{
		use: "sessions [NAME]", short: "List the sign-in sessions of a user",
		long: `List the sign-in sessions of a user that have not ended. Without NAME they are your own,
for which no permission is needed.`,
		example: "  muster user sessions\n  muster user sessions ada",
	}, cobra.MaximumNArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		var list operator.SignInList
		address, whose := signInsOf(args)
		if err := o.ask(ctx, address, &list); err != nil {
			return fmt.Errorf("list the sessions%s: %w", whose, err)
		}
		return o.show(list, func(to io.Writer) {
			row(to, "ID", "KIND", "CLIENT", "ADDRESS", "CREATED", "USED", "ENDS")
			for _, s := range list.SignIns {
				row(to, s.ID, s.Kind, s.Client, s.Address, s.Created, s.Used, s.Ends)
			}
		})
	})
}

func (a *app) userSignOutCommand() *cobra.Command {
	return a.operatorCommand(help{
		use: "sign-out [NAME]", short: "End all sign-in sessions of a user",
		long: `End all sign-in sessions of a user. Temporary keys that were issued to it stop working,
too. Without NAME the sessions are your own, for which no permission is needed.`,
		example: "  muster user sign-out\n  muster user sign-out ada",
	}, cobra.MaximumNArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		var ended operator.Ended
		address, whose := signInsOf(args)
		if err := o.send(ctx, http.MethodDelete, address, nil, &ended); err != nil {
			return fmt.Errorf("end the sessions%s: %w", whose, err)
		}
		return o.say("Ended %s%s.", counted(ended.Ended, "session"), whose)
	})
}

func (a *app) unlockCommand() *cobra.Command {
	return a.operatorCommand(help{
		use:   "unlock NAME",
		short: "Let a person try passwords again at once",
		long: `Forget the wrong passwords of a person, after which sign-in waits for a growing time.
The count is that of the called node: in a cluster, call the node that the person uses.`,
		example: "  muster unlock ada",
	}, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		if err := o.send(ctx, http.MethodPost, path("users", args[0], "unlock"), nil, nil); err != nil {
			return fmt.Errorf("unlock %s: %w", args[0], err)
		}
		return o.say("Unlocked %s.", args[0])
	})
}
