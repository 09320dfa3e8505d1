package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
)

// defaultProfile is the profile, SSO session and services section that muster configure writes.
const defaultProfile = "muster"

// A sharedProfile is a profile of the AWS configuration with the sections that it names. The zero value has nothing.
type sharedProfile struct{ awsconfig.SharedConfig }

// serviceURL returns the endpoint of a service, by its name in a services section; "" if there is none.
func (p *sharedProfile) serviceURL(service string) string {
	return cmp.Or(p.Services.ServiceValues[service]["endpoint_url"], p.BaseEndpoint)
}

// awsFile returns a file in the folder of the AWS tools. variable, if set in the environment, names another one.
// Source: AWS SDKs and Tools reference guide, "Location of the shared config and credentials files".
func (a *app) awsFile(variable string, path ...string) (string, error) {
	if file := a.getenv(variable); variable != "" && file != "" {
		return file, nil
	}
	home := cmp.Or(a.getenv("HOME"), a.getenv("USERPROFILE"))
	if home == "" {
		return "", errors.New("no home directory: set HOME")
	}
	return filepath.Join(append([]string{home, ".aws"}, path...)...), nil
}

// sharedFiles returns the files of the AWS configuration.
func (a *app) sharedFiles() (config, credentials string, err error) {
	config, err1 := a.awsFile("AWS_CONFIG_FILE", "config")
	credentials, err2 := a.awsFile("AWS_SHARED_CREDENTIALS_FILE", "credentials")
	return config, credentials, cmp.Or(err1, err2)
}

// loadProfile reads a profile. A missing one is an error.
func (a *app) loadProfile(ctx context.Context, name string) (*sharedProfile, error) {
	config, credentials, err := a.sharedFiles()
	if err != nil {
		return nil, err
	}
	p, err := awsconfig.LoadSharedConfigProfile(ctx, name, func(o *awsconfig.LoadSharedConfigOptions) {
		o.ConfigFiles, o.CredentialsFiles = []string{config}, []string{credentials}
	})
	if _, missing := errors.AsType[awsconfig.SharedConfigProfileNotExistError](err); missing {
		if err := a.unreadable(config); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s has no profile %s: create it with 'muster configure'", config, name)
	}
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	return &sharedProfile{p}, nil
}

// unreadable returns why a file of the AWS configuration cannot be read; nil if it can, or if it is the default one and
// does not exist.
func (a *app) unreadable(file string) error {
	_, err := os.ReadFile(file)
	failed, ok := errors.AsType[*fs.PathError](err)
	switch {
	case !ok:
		return err
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("cannot read %s: %w: if it is that of a service, run this as its user: sudo -u muster env "+
			"AWS_CONFIG_FILE=%s muster …", file, failed.Err, shellQuote(file))
	case errors.Is(err, fs.ErrNotExist) && a.getenv("AWS_CONFIG_FILE") == "":
		return nil
	}
	return fmt.Errorf("cannot read %s: %w: correct AWS_CONFIG_FILE", file, failed.Err)
}

// profileOfCall returns the profile that completes a call: that of the command line or of AWS_PROFILE, or the zero
// profile. One of the environment may be missing if there are keys beside it.
func (o *operatorCall) profileOfCall(ctx context.Context) (*sharedProfile, error) {
	name := cmp.Or(o.profile, o.getenv("AWS_PROFILE"))
	if name == "" {
		return new(sharedProfile), nil
	}
	p, err := o.loadProfile(ctx, name)
	if err != nil && o.profile == "" && cmp.Or(o.keys.AccessKey, o.getenv("AWS_ACCESS_KEY_ID")) != "" {
		return new(sharedProfile), nil
	}
	return p, err
}

// profileKeys returns the credentials of a profile. Those of a sign-in session do not come from the SDK, which sends
// them to AWS if AWS_ENDPOINT_URL is set.
func (a *app) profileKeys(ctx context.Context, p *sharedProfile) (aws.Credentials, error) {
	if p.SSOSession != nil {
		s, err := a.ssoSession(p)
		if err != nil {
			return aws.Credentials{}, err
		}
		return s.roleKeys(ctx)
	}
	if p.Credentials.HasKeys() {
		return p.Credentials, nil
	}
	config, credentials, err := a.sharedFiles()
	if err != nil {
		return aws.Credentials{}, err
	}
	loaded, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithSharedConfigProfile(p.Profile),
		awsconfig.WithSharedConfigFiles([]string{config}), awsconfig.WithSharedCredentialsFiles([]string{credentials}),
		awsconfig.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	if err != nil {
		return aws.Credentials{}, err
	}
	return loaded.Credentials.Retrieve(ctx)
}
