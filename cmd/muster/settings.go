package main

import (
	"path/filepath"
	"strings"

	"github.com/muster-gg/muster"
	"github.com/spf13/cobra"
)

// addSettings gives a subcommand a flag for every setting, and --config. The
// function that it returns loads the settings; call it when the subcommand runs.
func (a *app) addSettings(command *cobra.Command, defaults muster.Config) func() (muster.Config, muster.Origins, error) {
	given := map[string]string{}
	for _, s := range defaults.Settings() {
		command.Flags().Var(&settingFlag{Setting: s, given: given}, s.Name, s.Usage)
	}
	var file string
	command.Flags().StringVar(&file, "config", a.getenv("MUSTER_CONFIG"), "TOML file with settings (environment MUSTER_CONFIG)")
	return func() (muster.Config, muster.Origins, error) {
		config, origins, err := muster.Load(defaults, muster.Sources{File: file, Environ: a.environ, Flags: given})
		if err != nil {
			return muster.Config{}, nil, &misuseError{err}
		}
		if config.Data, err = filepath.Abs(config.Data); err != nil {
			return muster.Config{}, nil, err
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
	muster.Setting
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
