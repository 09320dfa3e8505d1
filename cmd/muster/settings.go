package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/config"
	"github.com/spf13/cobra"
)

// addSettings adds a flag for every setting, and --config. The returned function loads the settings when the subcommand
// runs.
func (a *app) addSettings(command *cobra.Command,
	defaults muster.Config) func() (muster.Config, config.Origins, error) {
	load := addSettings(a, command, defaults, settingNames(muster.StandaloneGateway{}))
	return func() (config muster.Config, origins config.Origins, err error) {
		if config, origins, err = load(); err == nil {
			config.SettingOrigins = origins
			config.Data, err = filepath.Abs(config.Data)
		}
		return config, origins, err
	}
}

// settingNames are the settings of another subcommand, which a file and the environment may have, too.
func settingNames[C any, P config.Settable[C]](config C) (names []string) {
	for _, s := range P(&config).Settings() {
		if names = append(names, s.Name); s.Former() != "" {
			names = append(names, s.Former())
		}
	}
	return names
}

// addSettings is app.addSettings for any struct of settings.
func addSettings[C any, P config.Settable[C]](
	a *app, command *cobra.Command, defaults C, elsewhere []string,
) func() (C, config.Origins, error) {
	given := map[string]string{}
	settings := slices.DeleteFunc(P(&defaults).Settings(), func(s config.Setting) bool {
		return command.Flags().Lookup(s.Name) != nil // the command has a flag of its own with this name
	})
	command.SetUsageFunc(settingsUsage(settings))
	for _, s := range settings {
		command.Flags().Var(&settingFlag{Setting: s, given: given}, s.Name, s.Usage)
		if former := s.Former(); former != "" {
			usage := "the former name of --" + s.Name
			s.Name = former
			command.Flags().Var(&settingFlag{Setting: s, given: given}, former, usage)
			command.Flags().Lookup(former).Hidden = true
		}
	}
	if legacy := command.Flags().Lookup("legacy"); legacy != nil {
		if _, setting := legacy.Value.(*settingFlag); setting {
			legacy.NoOptDefVal = config.On
		}
	}
	command.Flags().BoolFunc("compat-errors", "the same as --gateway-compat-errors on", func(string) error {
		given["gateway-compat-errors"] = "on"
		return nil
	})
	var file string
	command.Flags().StringVar(&file, "config", a.getenv("MUSTER_CONFIG"),
		"TOML file with settings (environment MUSTER_CONFIG)")
	return func() (C, config.Origins, error) {
		sources := config.Sources{File: file, Environ: a.environ, Flags: given, Elsewhere: elsewhere,
			Warn: func(text string) { fmt.Fprintln(a.stderr, "muster:", text) }}
		config, origins, err := config.Load[C, P](defaults, sources)
		if err != nil {
			return config, nil, &misuseError{err}
		}
		return config, origins, nil
	}
}

// settingsUsage prints the usage of a subcommand, with its settings grouped as in the reference.
func settingsUsage(settings []config.Setting) func(*cobra.Command) error {
	return func(command *cobra.Command) error {
		out := command.OutOrStdout()
		fmt.Fprintf(out, "Usage:\n  %s\n\nExamples:\n%s\n", command.UseLine(), command.Example)
		group := ""
		for _, s := range settings {
			if s.Group != group {
				group = s.Group
				fmt.Fprintf(out, "\n%s:\n", group)
			}
			flag := command.Flags().Lookup(s.Name)
			flag.Hidden = true // below, among the other flags
			fallback := ""
			if flag.DefValue != "" {
				fallback = " (default " + flag.DefValue + ")"
			}
			fmt.Fprintf(out, "  --%s %s%s\n        %s\n", s.Name, flag.Value.Type(), fallback, s.Summary())
		}
		_, err := fmt.Fprintf(out, "\nOther flags:\n%s", command.LocalFlags().FlagUsages())
		return err
	}
}

func (a *app) getenv(name string) string {
	for _, entry := range a.environ {
		if key, value, _ := strings.Cut(entry, "="); key == name {
			return value
		}
	}
	return ""
}

// A settingFlag is a setting as a flag. It records the text; config.Load checks it.
type settingFlag struct {
	config.Setting
	given map[string]string
}

// Set records the text. A repeated list is extended.
func (f *settingFlag) Set(text string) error {
	if before, again := f.given[f.Name]; again && f.Kind() == "list" {
		text = before + "," + text
	}
	f.given[f.Name] = text
	return nil
}

// Type returns the kind of value for the help.
func (f *settingFlag) Type() string {
	if choices := choicesOf(f.Setting); choices != nil {
		return strings.Join(choices, "|")
	}
	word, _, _ := strings.Cut(f.Kind(), ",")
	return word
}
