package main

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/operator"
)

func (a *app) groupCommand() *cobra.Command {
	return parentCommand(help{
		use:   "group",
		short: "Manage groups of people",
		long: `Manage groups, to which roles are assigned as @NAME. An identity provider can name the
groups of a person at each sign-in: see "muster provider add".`,
		example: `  muster group add developers
  muster assign @developers GameDev
  muster group join developers ada`,
	}, a.groupAddCommand(), a.groupListCommand(), a.groupMemberCommand(true), a.groupMemberCommand(false),
		a.removeCommand("group", "groups", "Delete a group without members and roles."))
}

func (a *app) groupAddCommand() *cobra.Command {
	var in operator.NewGroup
	command := a.operatorCommand(help{
		use: "add NAME", short: "Add a group, or change its description",
		long:    "Add a group. If it exists, change its description.",
		example: `  muster group add developers --description "Game teams"`,
	}, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		in.Name = args[0]
		if err := o.send(ctx, http.MethodPost, path("groups"), in, nil); err != nil {
			return fmt.Errorf("add group %s: %w", in.Name, err)
		}
		return o.say("Added group %s.", in.Name)
	})
	command.Flags().StringVar(&in.Description, "description", "", "what the group is for")
	return command
}

func (a *app) groupListCommand() *cobra.Command {
	return a.showCommand(help{
		use: "ls", short: "List groups", long: "List groups with their roles and members.",
		example: "  muster group ls",
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		var list operator.GroupList
		if err := o.ask(ctx, path("groups"), &list); err != nil {
			return fmt.Errorf("list the groups: %w", err)
		}
		return o.show(list, func(to io.Writer) {
			row(to, "NAME", "ROLES", "MEMBERS", "DESCRIPTION")
			for _, g := range list.Groups {
				row(to, g.Name, g.Roles, g.Members, g.Description)
			}
		})
	})
}

func (a *app) groupMemberCommand(join bool) *cobra.Command {
	h := help{use: "leave GROUP USER...", short: "Remove users from a group",
		long: "Remove users from a group.", example: "  muster group leave developers ada"}
	if join {
		h = help{use: "join GROUP USER...", short: "Add users to a group",
			long: "Add users to a group.", example: "  muster group join developers ada grace"}
	}
	return a.operatorCommand(h, cobra.MinimumNArgs(2), func(ctx context.Context, o *operatorCall, args []string) error {
		patch, done := access.UserPatch{RemoveGroups: args[:1]}, "%s left %s."
		if join {
			patch, done = access.UserPatch{AddGroups: args[:1]}, "%s joined %s."
		}
		for _, user := range args[1:] {
			if err := o.send(ctx, http.MethodPatch, path("users", user), patch, nil); err != nil {
				return fmt.Errorf("change user %s: %w", user, err)
			}
			if err := o.say(done, user, args[0]); err != nil {
				return err
			}
		}
		return nil
	})
}
