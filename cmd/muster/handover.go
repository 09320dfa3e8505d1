package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/atomicfile"
)

const (
	envFile     = "muster.env"
	profileFile = "aws-profile"

	writtenByMuster = "# Written by muster." // at the beginning of profileFile
)

// Keys of an AWS profile.
const (
	profileKeyID  = "aws_access_key_id"
	profileSecret = "aws_secret_access_key" //nolint:gosec // a name
)

// variable is an environment variable.
type variable struct{ name, value string }

// environment returns the variables for clients and game servers of a service.
func environment(e muster.Endpoints) []variable {
	var variables []variable
	for _, service := range signInServices { // not AWS_ENDPOINT_URL: see signInServices
		variables = append(variables, variable{"AWS_ENDPOINT_URL_" + strings.ToUpper(service), e.HTTP})
	}
	variables = append(variables, []variable{
		{"AWS_ACCESS_KEY_ID", e.AccessKey},
		{secretKey, e.SecretKey},
		{"AWS_REGION", e.Region},
		{"AWS_DEFAULT_REGION", e.Region}, // for boto3 and version 1 of the AWS CLI
		{"MUSTER_HTTP_URL", e.HTTP},
		{"MUSTER_WS_URL", e.WS},
		{"MUSTER_WSS_URL", e.WSS},
		{"MUSTER_CA_FILE", e.CAFile},
	}...)
	if e.Gateway != "" {
		variables = append(variables, variable{"MUSTER_GATEWAY_URL", e.Gateway})
	}
	if e.Pprof != "" {
		variables = append(variables, variable{"MUSTER_PPROF_URL", e.Pprof})
	}
	if needsCA(e) {
		variables = append(variables, variable{"AWS_CA_BUNDLE", e.CAFile})
	}
	return variables
}

// needsCA reports whether AWS tools must trust the local CA: unencrypted requests are refused and the certificate is
// signed by it.
func needsCA(e muster.Endpoints) bool {
	return e.CAFile != "" && strings.HasPrefix(e.HTTP, "https:")
}

// exports formats the variables for a POSIX shell.
func exports(variables []variable) string { return posix.lines(variables) }

// writeEnvFile writes the variables for each kind of shell, last to envFile: that file marks the service as ready.
func writeEnvFile(envFile string, variables []variable) error {
	for _, d := range []dialect{fish, powerShell, posix} {
		if err := atomicfile.Write(d.file(envFile), []byte(d.lines(variables)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// removeEnvFile removes what writeEnvFile has written.
func removeEnvFile(envFile string) error {
	return errors.Join(removeFile(envFile), removeFile(fish.file(envFile)), removeFile(powerShell.file(envFile)))
}

// awsProfile returns a file with the profile "muster" that works as AWS_CONFIG_FILE and as AWS_SHARED_CREDENTIALS_FILE:
// the two spell a section differently, and ignore the other's spelling.
// Source: AWS CLI user guide, "Configuration and credential file settings".
func awsProfile(e muster.Endpoints) string {
	bundle := ""
	if needsCA(e) {
		bundle = "ca_bundle = " + e.CAFile + "\n"
	}
	keys := fmt.Sprintf("%s = %s\n%s = %s\n", profileKeyID, e.AccessKey, profileSecret, e.SecretKey)
	endpoints := ""
	for _, service := range signInServices {
		endpoints += service + " =\n  endpoint_url = " + e.HTTP + "\n"
	}
	return writtenByMuster + " To use it:\n" +
		"# export AWS_CONFIG_FILE=<this file> AWS_PROFILE=muster\n\n" +
		"[profile muster]\n" +
		"region = " + e.Region + "\n" + bundle + keys +
		"services = muster\n\n" +
		"[services muster]\n" + endpoints + "\n" +
		"[muster]\n" + keys
}

// removeFile removes a file if it exists.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

const secretKey = "AWS_SECRET_ACCESS_KEY"

// addPrintSecret adds the flag to print an access key's secret even if standard output is no terminal, but for instance
// a log collector.
func addPrintSecret(command *cobra.Command) *bool {
	return command.Flags().Bool("print-secret", false,
		"print the access key's secret even if standard output is no terminal")
}

// printable returns the variables to print on standard output: the secret only to a terminal, or if requested.
func (a *app) printable(variables []variable, always bool) []variable {
	if always || isTerminal(a.stdout) {
		return variables
	}
	return slices.DeleteFunc(slices.Clone(variables), func(v variable) bool { return v.name == secretKey })
}
