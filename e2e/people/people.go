// Package people sets up what tests of signing in need: a service with users and roles, and programs that users sign in
// to with the SSO-OIDC client of the AWS SDK for Go.
//
// An error ends the test with Fatal, so that only the test's own goroutine may call these functions.
package people

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/mustertest"
)

// Password is that of all users.
const Password = "a horse and a staple"

// A Service is Muster in this process, with the root key.
type Service struct {
	*mustertest.Service
	Root        aws.Credentials
	ProgramName string // of the programs that Register registers
}

// Start runs a service, as mustertest.Start does.
func Start(t testing.TB, change ...func(*muster.Config)) *Service {
	t.Helper()
	s := mustertest.Start(t, change...)
	return &Service{s, aws.Credentials{AccessKeyID: s.AccessKey, SecretAccessKey: s.SecretKey}, "test"}
}

// Signed returns a change of a request that signs it for a service of AWS.
func (s *Service) Signed(keys aws.Credentials, service string) func(*http.Request) {
	return func(r *http.Request) {
		s.Helper()
		var body []byte
		if r.Body != nil {
			var err error
			if body, err = io.ReadAll(r.Body); err != nil {
				s.Fatal(err)
			}
		}
		if len(body) > 0 {
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		sum := sha256.Sum256(body)
		err := v4.NewSigner().SignHTTP(r.Context(), keys, r, hex.EncodeToString(sum[:]), service, s.Region, time.Now())
		if err != nil {
			s.Fatal(err)
		}
	}
}

// Manage calls the operator's API with the root key, and returns the answer to a call that must succeed. The body
// becomes JSON; nil: none.
func (s *Service) Manage(method, path string, body any) (answer map[string]any) {
	s.Helper()
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			s.Fatal(err)
		}
		content = bytes.NewReader(encoded)
	}
	r, err := http.NewRequestWithContext(s.Context(), method, s.HTTP+"/v1/"+path, content)
	if err != nil {
		s.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	s.Signed(s.Root, "gamelift")(r)
	response, err := s.Web.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	data, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		s.Fatalf("%s /v1/%s: %d %s", method, path, response.StatusCode, data)
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		s.Fatalf("%s /v1/%s: %v: %s", method, path, err, data)
	}
	return answer
}

// AddUser adds a user with roles.
func (s *Service) AddUser(name string, roles ...string) {
	s.Helper()
	s.Manage("POST", "users", map[string]any{"name": name, "password": Password})
	for _, role := range roles {
		s.Manage("PUT", "assignments/"+role+"/"+name, nil)
	}
}
