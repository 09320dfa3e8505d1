package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/user"
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
	config.Environ = os.Environ()
	if err := server.ExamineSettings(config); err != nil {
		return &misuseError{err}
	}
	if err := checkPorts(ctx, &config); err != nil {
		return err
	}
	_, _ = memlimit.Set() // that of the container; an error means there is none
	defer server.PaceCollector()()
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
	fresh, err := keepProfile(profile, reached(&config, e))
	if err != nil {
		config.Log.Warn("AWS profile not written", "file", profile, "error", err)
		return
	}
	if fresh {
		config.Log.Info("AWS profile with the first access key written", "file", profile)
		fmt.Fprint(a.stdout, exports(a.printable([]variable{{"AWS_ACCESS_KEY_ID", e.AccessKey},
			{secretKey, e.SecretKey}}, printSecret)))
		run := a.asService() + "AWS_CONFIG_FILE=" + shellQuote(profile) + " muster "
		add := run + "user add NAME --profile muster --invite"
		assign := run + "assign NAME administrator --profile muster"
		if config.LogFormat == "json" {
			config.Log.Info("first person who may sign in can be added", "add", add, "assign", assign)
			return
		}
		fmt.Fprintf(a.stderr, "Add the first person who may sign in:\n  %s\n  %s\n", add, assign)
	}
}

// asService returns the beginning of a command that an administrator runs as the user of this service, who alone can
// read its data: with sudo if systemd runs it. Source: systemd.exec(5), INVOCATION_ID.
func (a *app) asService() string {
	of, err := user.Current()
	if a.getenv("INVOCATION_ID") == "" || isTerminal(a.stderr) || err != nil || of.Username == "root" {
		return ""
	}
	return "sudo -u " + of.Username + " env "
}

// reached replaces the address of the service by that of public-url if the certificate is not one of the local CA,
// which has the name of this machine: AWS tools verify it.
func reached(c *muster.Config, e muster.Endpoints) muster.Endpoints {
	u, err := url.Parse(c.PublicURL)
	if err == nil && c.TLSCert != "" && u.Scheme == "wss" && strings.HasPrefix(e.HTTP, "https:") {
		e.HTTP = "https://" + u.Host
	}
	return e
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
