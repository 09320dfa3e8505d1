package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpAll is the flag for the help with all flags of a command that has more than maxHelpFlags.
const (
	helpAll      = "help-all"
	maxHelpFlags = 20
)

// errHelp ends a command that has only shown its help, with success.
var errHelp = errors.New("help is shown")

// helpCommand returns the command for the help of another one. Cobra's prints the whole help for an unknown name.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show the help of a command", Long: "Show the help of a command.",
		Example: "  muster help get sessions", GroupID: "tools",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (
			found []cobra.Completion, _ cobra.ShellCompDirective) {
			if of, left, err := root.Find(args); err == nil && len(left) == 0 {
				for _, child := range of.Commands() {
					if child.IsAvailableCommand() {
						found = append(found, cobra.CompletionWithDesc(child.Name(), child.Short))
					}
				}
			}
			return found, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			of, left, err := root.Find(args)
			if err == nil && of.HasSubCommands() && len(left) > 0 {
				return unknownCommand(of, left)
			}
			if err != nil {
				return &misuseError{err}
			}
			of.InitDefaultHelpFlag() // otherwise its help lacks --help
			return of.Help()
		},
	}
}

// A flagGroup is a part of a short help.
type flagGroup struct{ title, flags string }

// shortHelp has the flags in the help of commands with many, at most maxHelpFlags; a test holds them to it.
var shortHelp = map[string][]flagGroup{
	"dev": {
		{"Data and addresses", "data listen gateway-listen env-file"},
		{"Game servers", "sample-servers no-sample no-machine gateway-fleet process-grace reservation-timeout"},
		{"Output", "quiet log-level log-format print-secret"},
		{"Settings", "config region account"},
	},
	"local": {
		{"Data and addresses", "data port listen gateway-listen"},
		{"Game servers", "legacy-fleet legacy-ports legacy-listen legacy-address"},
		{"Settings", "config log-level log-format"},
	},
	"serve":  serviceHelp("print-secret"),
	"config": serviceHelp("changed json show-secrets"),
	"doctor": {
		{"Settings", "config data listen public-url tls-cert tls-key node peer"},
		{"Service", "endpoint profile access-key secret-key region ca-file"},
		{"Old game servers", "legacy ports"},
		{"Output", "json"},
	},
	"gateway": {
		{"Service", "gateway-endpoint gateway-legacy region"},
		{"Game sessions", "gateway-fleet gateway-alias gateway-queue gateway-location gateway-deadline"},
		{"Clients", "gateway-listen gateway-keys-file gateway-jwt-issuer gateway-address-rate tls-cert tls-key"},
		{"Settings", "config metrics-listen log-level log-format"},
	},
	"agent": {
		{"Compute", "fleet-id compute-name region location ip-address runtime-configuration"},
		{"Machine", "machine service token-file name cpus memory run-as"},
		{"Both", "data port-range metrics-listen ca-file"},
	},
	"bots": {
		{"Players", "players every stay for connect game-version slots"},
		{"Game sessions", "fleet alias queue matchmaking attribute latency"},
		{"Service", "gateway api-key api endpoint profile ca-file"},
		{"Output", "output"},
	},
	"bench": {
		{"Service", "endpoint access-key secret-key region ca-file"},
		{"Load", "duration connections rate pool batch locations waiting sdk"},
		{"Output", "json pprof-listen metrics-url"},
	},
}

func serviceHelp(output string) []flagGroup {
	return []flagGroup{
		{"Data and addresses", "data listen public-url gateway-listen metrics-listen"},
		{"Encryption", "plaintext tls-cert tls-key"},
		{"Region", "region account shards history-retention"},
		{"Cluster", "node peer"},
		{"Settings and output", "config log-level log-format " + output},
	}
}

// shortenHelp gives commands with many flags a short help, and the flag for all.
func shortenHelp(root *cobra.Command) {
	for _, of := range root.Commands() {
		groups, many := shortHelp[of.Name()]
		if !many {
			continue
		}
		full := of.UsageFunc()
		all := of.Flags().Bool(helpAll, false, "show the help with all flags")
		of.SetUsageFunc(func(c *cobra.Command) error {
			if *all || c != of { // subcommands inherit the function
				return full(c)
			}
			return shortUsage(c, groups)
		})
	}
}

// showAll shows the help with all flags, if the command line has the flag for it.
func showAll(c *cobra.Command) error {
	if flag := c.Flags().Lookup(helpAll); flag == nil || flag.Value.String() != "true" {
		return nil
	}
	if err := c.Help(); err != nil {
		return err
	}
	return errHelp
}

// shortUsage prints the most used flags in groups, a line for each.
func shortUsage(c *cobra.Command, groups []flagGroup) error {
	out := c.OutOrStdout()
	fmt.Fprintf(out, "Usage:\n  %s\n\nExamples:\n%s\n", c.UseLine(), c.Example)
	for _, g := range groups {
		lines := pflag.NewFlagSet("", pflag.ContinueOnError)
		lines.SortFlags = false
		for _, name := range strings.Fields(g.flags) {
			short := *c.Flags().Lookup(name)
			if _, setting := short.Value.(*settingFlag); setting { // details follow after semicolons
				short.Usage, _, _ = strings.Cut(short.Usage, ";")
			}
			lines.AddFlag(&short)
		}
		fmt.Fprintf(out, "\n%s:\n%s", g.title, lines.FlagUsages())
	}
	n := 0
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			n++
		}
	})
	_, err := fmt.Fprintf(out, "\nRun '%s --%s' for all %d flags.\n", c.CommandPath(), helpAll, n)
	return err
}
