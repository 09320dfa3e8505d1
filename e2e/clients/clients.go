// Package clients lets tests call the GameLift API with the clients that people really use: the AWS CLI, boto3 and the
// AWS SDK for JavaScript. `make test` installs them, pinned, into .tools; a test that needs one which is not there
// fails and says so.
package clients

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A Caller calls operations of the API.
type Caller interface {
	// Call performs an operation by its name in the API reference. It encodes params as JSON and decodes the answer
	// into result, which may be nil. When the service refuses, the error is an *APIError.
	Call(operation string, params, result any) error
}

// An APIError is a refusal as the client reports it.
type APIError struct {
	Code    string // the exception's name
	Message string
	Status  int // HTTP status; 0 when the client does not tell
}

// Error is the exception's name and message.
func (e *APIError) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// Code is the exception's name when err is a refusal of the service, else "".
func Code(err error) string {
	if refusal, ok := errors.AsType[*APIError](err); ok {
		return refusal.Code
	}
	return ""
}

// Environ is the environment that points a client at a service.
func Environ(endpoint, region, accessKey, secretKey string) []string {
	return []string{
		"AWS_ENDPOINT_URL_GAMELIFT=" + endpoint,
		"AWS_ENDPOINT_URL_CLOUDWATCH=" + endpoint,
		"AWS_ENDPOINT_URL_S3=" + endpoint,
		"AWS_REGION=" + region,
		"AWS_DEFAULT_REGION=" + region, // what boto3 and version 1 of the AWS CLI read
		"AWS_ACCESS_KEY_ID=" + accessKey,
		"AWS_SECRET_ACCESS_KEY=" + secretKey,
	}
}

// installed returns the path of a file in .tools, given as alternatives for different systems. It fails the test when
// there is none.
func installed(t testing.TB, alternatives ...string) string {
	t.Helper()
	for _, path := range alternatives {
		path = filepath.Join(source(t), "..", "..", ".tools", filepath.FromSlash(path))
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Fatalf("%s is not installed: run make test, or make clients once", alternatives[0])
	return ""
}

// source is the directory of this package.
func source(t testing.TB) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		t.Fatal("the sources are not where they were built: run the tests with go test, without -trimpath")
	}
	return filepath.Dir(file)
}

// environment is the test's own without what would configure AWS clients, and with what the caller adds.
func environment(t testing.TB, add []string) []string {
	t.Helper()
	own := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(strings.ToUpper(entry), "AWS_")
	})
	nothing := filepath.Join(t.TempDir(), "none")
	return slices.Concat(own, []string{
		"AWS_CONFIG_FILE=" + nothing,
		"AWS_SHARED_CREDENTIALS_FILE=" + nothing,
		"AWS_EC2_METADATA_DISABLED=true",
	}, add)
}
