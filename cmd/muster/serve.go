package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/atomicfile"
	"github.com/muster-gg/muster/internal/control/access/hasher"
	"github.com/muster-gg/muster/internal/server"
)

// runService runs the service as a program: it paces the garbage collector and respects the memory limit of its
// container, which muster.Run must not do inside other programs.
func runService(ctx context.Context, config muster.Config) error {
	if err := checkPorts(ctx, &config); err != nil {
		return err
	}
	_, _ = memlimit.Set() // that of the container; an error means there is none
	defer server.PaceCollector()()
	config.Environ = os.Environ()
	if program, err := os.Executable(); err == nil {
		config.PasswordHasher = []string{program, hashPasswords}
	}
	return explainPort(ctx, muster.Run(ctx, config))
}

// hashPasswords is the command that the service starts for itself.
const hashPasswords = "hash-passwords"

func (a *app) hashPasswordsCommand() *cobra.Command {
	return &cobra.Command{
		Use: hashPasswords, Hidden: true, Args: cobra.NoArgs,
		Short:   "Hash passwords for the service that starts it",
		Example: `  muster hash-passwords   # started by muster serve`,
		RunE:    func(*cobra.Command, []string) error { return hasher.Serve(a.stdin, a.stdout) },
	}
}

func (a *app) serveCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Long: `Run the service until SIGTERM or Ctrl-C; a second signal ends it at once. All
settings have defaults. A setting can be a flag, a variable MUSTER_NAME or a key
of the file in --config; see "muster config". Unknown settings are errors.

The first start creates an access key and writes it to aws-profile in the data
directory, for AWS tools:
AWS_CONFIG_FILE=…/aws-profile AWS_PROFILE=muster aws gamelift list-fleets
It prints the key once on standard output, with its secret only to a terminal.`,
		Example: `  muster serve
  muster serve --config /etc/muster/muster.toml
  muster serve --data /var/lib/muster --public-url wss://games.example.com:9080
  MUSTER_LOG_FORMAT=json muster serve --plaintext refuse --tls-cert cert.pem --tls-key key.pem`,
		Args: cobra.NoArgs,
	}
	load := a.addSettings(command, muster.DefaultConfig())
	printSecret := addPrintSecret(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		config, _, err := load()
		if err != nil {
			return err
		}
		config.Log = config.Logger(a.stderr)
		config.Ready = func(e muster.Endpoints) { a.serving(config, e, *printSecret) }
		return a.serve(command.Context(), config)
	}
	return command
}

// serving prints the first key. The addresses of the service are in its log.
func (a *app) serving(config muster.Config, e muster.Endpoints, printSecret bool) {
	profile := filepath.Join(config.Data, profileFile)
	fresh, err := keepProfile(profile, e)
	if err != nil {
		config.Log.Warn("AWS profile not written", "file", profile, "error", err)
		return
	}
	if fresh {
		config.Log.Info("AWS profile with the first access key written", "file", profile)
		fmt.Fprint(a.stdout, exports(a.printable([]variable{{"AWS_ACCESS_KEY_ID", e.AccessKey},
			{secretKey, e.SecretKey}}, printSecret)))
		fmt.Fprintf(a.stderr, "Add the first person who may sign in:\n"+
			"  AWS_CONFIG_FILE=%s muster user add NAME --profile muster --invite\n"+
			"  AWS_CONFIG_FILE=%s muster assign NAME administrator --profile muster\n", shellQuote(profile),
			shellQuote(profile))
	}
}

// keepProfile writes the AWS profile and reports whether it did. In one that exists, which may have been edited, it
// replaces the root key by the present one at most.
func keepProfile(path string, e muster.Endpoints) (fresh bool, err error) {
	if e.SecretKey == "" {
		return false, nil
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return false, err
		}
		return false, renewProfile(path, e)
	}
	return true, atomicfile.Write(path, []byte(awsProfile(e)), 0o600)
}

// renewProfile replaces the root key in a file that awsProfile has written: the root key may have been rotated, or
// recovered. Everything else stays as it is.
func renewProfile(path string, e muster.Endpoints) error {
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(text), writtenByMuster) {
		return err
	}
	_, err = editINI(path, func(f *iniFile) error {
		for _, name := range []string{"profile muster", "muster"} {
			if err := f.renewKey(name, e); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// renewKey replaces the access key of a section, if it has another one.
func (f *iniFile) renewKey(section string, e muster.Endpoints) error {
	start, end, err := f.section(section)
	if err != nil || start < 0 || f.value(start, end, profileKeyID) == "" ||
		f.value(start, end, profileKeyID) == e.AccessKey {
		return err
	}
	return f.set(section, []iniSetting{{"", profileKeyID, e.AccessKey}, {"", profileSecret, e.SecretKey}})
}
