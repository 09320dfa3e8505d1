package main

import (
	"path/filepath"
	"strings"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/config"
	"github.com/spf13/cobra"
)

// addSettings gives a subcommand of the service a flag for every setting, and
// --config. The function that it returns loads the settings; call it when the
// subcommand runs.
func (a *app) addSettings(command *cobra.Command, defaults muster.Config) func() (muster.Config, config.Origins, error) {
	load := addSettings(a, command, defaults, settingNames(muster.StandaloneGateway{}))
	return func() (config muster.Config, origins config.Origins, err error) {
		if config, origins, err = load(); err == nil {
			config.Data, err = filepath.Abs(config.Data)
		}
		return config, origins, err
	}
}

// settingNames are the names of settings that a file and the environment may hold
// for another subcommand.
func settingNames[C any, P config.Settable[C]](config C) (names []string) {
	for _, s := range P(&config).Settings() {
		names = append(names, s.Name)
	}
	return names
}

// addSettings is app.addSettings for any struct of settings.
func addSettings[C any, P config.Settable[C]](a *app, command *cobra.Command, defaults C, elsewhere []string) func() (C, config.Origins, error) {
	given := map[string]string{}
	for _, s := range P(&defaults).Settings() {
		command.Flags().Var(&settingFlag{Setting: s, given: given}, s.Name, s.Usage)
	}
	command.Flags().BoolFunc("compat-errors", "the same as --gateway-compat-errors on", func(string) error {
		given["gateway-compat-errors"] = "on"
		return nil
	})
	var file string
	command.Flags().StringVar(&file, "config", a.getenv("MUSTER_CONFIG"), "TOML file with settings (environment MUSTER_CONFIG)")
	return func() (C, config.Origins, error) {
		config, origins, err := config.Load[C, P](defaults, config.Sources{File: file, Environ: a.environ, Flags: given, Elsewhere: elsewhere})
		if err != nil {
			return config, nil, &misuseError{err}
		}
		return config, origins, nil
	}
}

// getenv returns the value of an environment variable, "" when it is not set.
func (a *app) getenv(name string) string {
	for _, entry := range a.environ {
		if key, value, _ := strings.Cut(entry, "="); key == name {
			return value
		}
	}
	return ""
}

// settingFlag is a setting as a flag. It only notes what was given: muster.Load
// decides between the sources and judges the values.
type settingFlag struct {
	config.Setting
	given map[string]string
}

// Set notes the text. A list that is given again grows.
func (f *settingFlag) Set(text string) error {
	if before, again := f.given[f.Name]; again && f.Kind() == "list" {
		text = before + "," + text
	}
	f.given[f.Name] = text
	return nil
}

// Type is the word that the help shows for the value.
func (f *settingFlag) Type() string {
	word, _, _ := strings.Cut(f.Kind(), ",")
	if word == f.Kind() || word == "number" || word == "duration" {
		return word
	}
	return strings.ReplaceAll(f.Kind(), ", ", "|")
}
