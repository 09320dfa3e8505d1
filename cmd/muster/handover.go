package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/muster-gg/muster"
)

// This file holds what programs are told of a running service: the variables
// that shells read and the profile that AWS tools read.

const (
	envFile     = "muster.env"
	profileFile = "aws-profile"
)

// variable is an environment variable.
type variable struct{ name, value string }

// environment is what clients and game servers need to reach a service.
func environment(e muster.Endpoints) []variable {
	variables := []variable{
		{"AWS_ENDPOINT_URL_GAMELIFT", e.HTTP},
		{"AWS_ACCESS_KEY_ID", e.AccessKey},
		{secretKey, e.SecretKey},
		{"AWS_REGION", e.Region},
		{"AWS_DEFAULT_REGION", e.Region}, // what boto3 and version 1 of the AWS CLI read
		{"MUSTER_HTTP_URL", e.HTTP},
		{"MUSTER_WS_URL", e.WS},
		{"MUSTER_WSS_URL", e.WSS},
		{"MUSTER_CA_FILE", e.CAFile},
	}
	if e.Gateway != "" {
		variables = append(variables, variable{"MUSTER_GATEWAY_URL", e.Gateway})
	}
	if e.Pprof != "" {
		variables = append(variables, variable{"MUSTER_PPROF_URL", e.Pprof})
	}
	if needsAuthority(e) {
		variables = append(variables, variable{"AWS_CA_BUNDLE", e.CAFile})
	}
	return variables
}

// needsAuthority reports whether AWS tools must be told whom to trust: plain
// text is refused and the certificate is of the local authority.
func needsAuthority(e muster.Endpoints) bool {
	return e.CAFile != "" && strings.HasPrefix(e.HTTP, "https:")
}

// exports are the lines with which a shell takes over the variables.
func exports(variables []variable) string {
	var lines strings.Builder
	for _, v := range variables {
		fmt.Fprintf(&lines, "export %s=%s\n", v.name, shellQuote(v.value))
	}
	return lines.String()
}

var shellSafe = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// shellQuote writes s as one word of a POSIX shell.
func shellQuote(s string) string {
	if shellSafe.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// awsProfile is a file with the profile "muster" that serves as AWS_CONFIG_FILE
// and as AWS_SHARED_CREDENTIALS_FILE: the two spell a profile's section
// differently, and each passes over the other's spelling.
// Source: AWS CLI user guide, "Configuration and credential file settings".
func awsProfile(e muster.Endpoints) string {
	authority := ""
	if needsAuthority(e) {
		authority = "ca_bundle = " + e.CAFile + "\n"
	}
	keys := fmt.Sprintf("aws_access_key_id = %s\naws_secret_access_key = %s\n", e.AccessKey, e.SecretKey)
	return "# Written by muster. To use it:\n" +
		"# export AWS_CONFIG_FILE=<this file> AWS_PROFILE=muster\n\n" +
		"[profile muster]\n" +
		"region = " + e.Region + "\n" + authority + keys +
		"services = muster\n\n" +
		"[services muster]\n" +
		"gamelift =\n  endpoint_url = " + e.HTTP + "\n\n" +
		"[muster]\n" + keys
}

// writeFile writes a file that only its owner may read. Whoever sees the file
// sees all of it: it is renamed into place when it is complete.
func writeFile(path, content string) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary.Name()))
		}
	}()
	_, err = temporary.WriteString(content)
	if err = errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

// removeFile removes a file that need not exist.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
