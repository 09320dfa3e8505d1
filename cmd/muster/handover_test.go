package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/muster-gg/muster"
)

// The judge of the profile is the reader that AWS programs use.
func TestAWSProfileIsReadBothWays(t *testing.T) {
	e := testEndpoints()
	path := filepath.Join(t.TempDir(), profileFile)
	if err := os.WriteFile(path, []byte(awsProfile(e)), 0o600); err != nil {
		t.Fatal(err)
	}
	asConfig, err := config.LoadSharedConfigProfile(t.Context(), "muster", func(o *config.LoadSharedConfigOptions) {
		o.ConfigFiles, o.CredentialsFiles = []string{path}, []string{}
	})
	if err != nil {
		t.Fatal(err)
	}
	if c := asConfig.Credentials; c.AccessKeyID != e.AccessKey || c.SecretAccessKey != e.SecretKey ||
		asConfig.Region != e.Region {
		t.Errorf("as AWS_CONFIG_FILE: %+v", asConfig)
	}
	if got := asConfig.Services.ServiceValues["gamelift"]["endpoint_url"]; got != e.HTTP {
		t.Errorf("endpoint %q, want %q", got, e.HTTP)
	}
	asCredentials, err := config.LoadSharedConfigProfile(t.Context(), "muster", func(
		o *config.LoadSharedConfigOptions,
	) {
		o.ConfigFiles, o.CredentialsFiles = []string{}, []string{path}
	})
	if err != nil {
		t.Fatal(err)
	}
	if c := asCredentials.Credentials; c.AccessKeyID != e.AccessKey || c.SecretAccessKey != e.SecretKey {
		t.Errorf("as AWS_SHARED_CREDENTIALS_FILE: %+v", asCredentials)
	}
}

// TestProfileIsKept but for the root key, which can be another one at the next start.
func TestProfileIsKept(t *testing.T) {
	e := testEndpoints()
	path := filepath.Join(t.TempDir(), profileFile)
	if fresh, err := keepProfile(path, e); err != nil || !fresh {
		t.Fatalf("%t, %v", fresh, err)
	}
	const mine = "\n# mine\n[profile mine]\naws_access_key_id = AKIAMINE\naws_secret_access_key = s\n"
	edited := strings.Replace(awsProfile(e), "region = ", "output = json\nregion = ", 1) + mine
	next := e
	next.AccessKey, next.SecretKey = "AKIANEXT", "next"
	renewed := strings.NewReplacer(e.AccessKey, "AKIANEXT", e.SecretKey, "next").Replace(edited)
	for _, test := range []struct {
		name, text, want string
		e                muster.Endpoints
	}{
		{"the same key", edited, edited, e},
		{"another key", edited, renewed, next},
		{"of somebody else", strings.TrimPrefix(edited, "# Written"), strings.TrimPrefix(edited, "# Written"), next},
		{"without keys", "# Written by muster.\n[profile muster]\n", "# Written by muster.\n[profile muster]\n", next},
	} {
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		fresh, err := keepProfile(path, test.e)
		text, readErr := os.ReadFile(path)
		if fresh || err != nil || readErr != nil || string(text) != test.want {
			t.Errorf("%s: %t, %v, %v\n%s", test.name, fresh, err, readErr, text)
		}
	}
}

func TestAuthorityIsNamedWhenPlainTextIsRefused(t *testing.T) {
	e := testEndpoints()
	if text := awsProfile(e) + exports(environment(e)); strings.Contains(text, "ca_bundle") ||
		strings.Contains(text, "AWS_CA_BUNDLE") {
		t.Errorf("named without need:\n%s", text)
	}
	e.HTTP = "https://127.0.0.1:9080"
	if !strings.Contains(awsProfile(e), "ca_bundle = "+e.CAFile+"\n") ||
		!strings.Contains(exports(environment(e)), "AWS_CA_BUNDLE=") {
		t.Error("not named")
	}
}

func TestProfilerIsNamedWhenItRuns(t *testing.T) {
	e := testEndpoints()
	if strings.Contains(exports(environment(e)), "PPROF") {
		t.Error("named though it is off")
	}
	e.Pprof = "http://127.0.0.1:6060/debug/pprof/"
	if !strings.Contains(exports(environment(e)), "export MUSTER_PPROF_URL="+e.Pprof+"\n") {
		t.Error("not named")
	}
}
