package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/publish"
)

// completionTimeout is the time-out of calls that complete a word: a shell waits for it.
const completionTimeout = 2 * time.Second

// regions are those of GameLift, to complete words with; any other may be used.
// Source: AWS General Reference, "Amazon GameLift Servers endpoints and quotas".
var regions = []string{
	"us-east-1", "us-east-2", "us-west-1", "us-west-2", "ca-central-1", "sa-east-1", "eu-central-1", "eu-north-1",
	"eu-south-1", "eu-west-1", "eu-west-2", "eu-west-3", "ap-east-1", "ap-northeast-1", "ap-northeast-2",
	"ap-northeast-3", "ap-south-1", "ap-southeast-1", "ap-southeast-2", "ap-southeast-5", "me-south-1", "af-south-1",
}

// flagValues complete the values of flags by their names.
func (a *app) flagValues() map[string]cobra.CompletionFunc {
	fixed := func(choices ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)
	}
	return map[string]cobra.CompletionFunc{
		"region": fixed(regions...),
		"fleet":  a.completeFleets, "fleet-id": a.completeFleets, "in-place": a.completeFleets,
		"gateway-fleet":        a.completeFleets,
		"output":               fixed("table", "wide", "json"),
		"gamelift-credentials": fixed("instance-profile", "environment-variable", "container"),
		"sdk":                  fixed("5", "legacy"),
		"connect":              fixed(connections...),
		"code":                 fixed(publish.Types...),
	}
}

// addCompletion has shells complete the values of flags, and fleets as first arguments, for all commands.
func (a *app) addCompletion(c *cobra.Command) {
	for _, child := range c.Commands() {
		a.addCompletion(child)
	}
	values := a.flagValues()
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		complete := values[f.Name]
		if s, ok := f.Value.(*settingFlag); ok && len(choicesOf(s.Setting)) > 0 {
			complete = cobra.FixedCompletions(choicesOf(s.Setting), cobra.ShellCompDirectiveNoFileComp)
		}
		if complete != nil {
			_ = c.RegisterFlagCompletionFunc(f.Name, complete) // fails for a flag that has one already
		}
	})
	_, arguments, _ := strings.Cut(c.Use, " ")
	if strings.HasPrefix(strings.TrimPrefix(arguments, "["), "FLEET") && c.ValidArgsFunction == nil {
		c.ValidArgsFunction = func(c *cobra.Command, args []string, word string) (
			[]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeFleets(c, args, word)
		}
	}
}

// choicesOf returns the values of a setting that has only a few; nil for others.
func choicesOf(s config.Setting) []string {
	choices := strings.Split(s.Kind(), ", ")
	if len(choices) == 1 || slices.Contains([]string{"number", "duration"}, choices[0]) {
		return nil
	}
	return choices
}

// completeFleets completes ids of fleets, if the environment has an endpoint. A shell shows the name beside the id.
func (a *app) completeFleets(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if a.endpoint() == "" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionTimeout)
	defer cancel()
	o := &operatorCall{app: a}
	if o.complete(ctx) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list control.FleetList
	_ = o.ask(ctx, path("fleets"), &list) // a completion has no place for errors
	var found []cobra.Completion
	for _, f := range list.Fleets {
		found = append(found, fmt.Sprintf("%s\t%s", f.FleetID, oneLine(f.Name)))
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
