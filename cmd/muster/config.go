package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/server"
)

func (a *app) configCommand() *cobra.Command {
	var asJSON, showSecrets, changed bool
	command := &cobra.Command{
		Use:   "config",
		Short: "Print every setting and the source of its value",
		Long: `Print the settings of "muster serve" with the same flags, environment and file.
The output is a settings file; a comment after each value names its source. Users
and queries of URLs may be secrets and are shown as ***, unless --show-secrets is
given. Like the start of the service, it reads the files that settings name, such as
tls-cert, and fails with status 2 if one is missing or malformed. Nothing is started
or changed.`,
		Example: `  muster config
  muster config --config /etc/muster/muster.toml --changed
  MUSTER_SHARDS=8 muster config --config muster.toml --listen :80
  muster config --show-secrets > muster.toml
  muster config --json`,
		Args: cobra.NoArgs,
	}
	load := a.addSettings(command, muster.DefaultConfig())
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	command.Flags().BoolVar(&changed, "changed", false, "only settings that differ from their defaults")
	command.Flags().BoolVar(&showSecrets, "show-secrets", false, "print URLs with user and query")
	command.RunE = func(*cobra.Command, []string) error {
		c, origins, err := load()
		if err != nil {
			return err
		}
		c.Environ = a.environ
		if err := server.ExamineSettings(c); err != nil {
			return &misuseError{err}
		}
		settings := c.Settings()
		if changed {
			settings = slices.DeleteFunc(settings, func(s config.Setting) bool {
				return origins[s.Name] == "default" || s.String() == s.Default
			})
		}
		if !showSecrets {
			for i := range settings {
				settings[i] = settings[i].Redacted()
			}
		}
		if asJSON {
			return a.printSettingsJSON(settings, origins)
		}
		return a.printSettings(settings, origins)
	}
	return command
}

func (a *app) printSettings(settings []config.Setting, origins config.Origins) error {
	table := tabwriter.NewWriter(a.stdout, 0, 0, 1, ' ', 0)
	group := ""
	for _, s := range settings {
		if s.Group != group {
			if group != "" {
				fmt.Fprintln(table)
			}
			group = s.Group
			fmt.Fprintf(table, "# %s\n", group)
		}
		line, err := s.TOML()
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%s\t# %s\n", line, origins[s.Name])
	}
	return table.Flush()
}

func (a *app) printSettingsJSON(settings []config.Setting, origins config.Origins) error {
	type entry struct {
		Name   string `json:"name"`
		Value  any    `json:"value"`
		Origin string `json:"origin"`
	}
	var entries []entry
	for _, s := range settings {
		entries = append(entries, entry{s.Name, s.Plain(), origins[s.Name]})
	}
	encoder := json.NewEncoder(a.stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(entries)
}
