package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/region"
)

// upgrading is a cluster of three nodes of this release and one of the release before, which is down.
func upgrading(t *testing.T) (nodes []config.Config) {
	t.Helper()
	nodes = threeNodes(t)
	var opening sync.WaitGroup
	opened := make([]*service, len(nodes))
	for i := range nodes {
		opened[i] = &service{cfg: nodes[i]}
		opening.Go(func() { note(t, opened[i], "n4", catalog.AccessLevel-1) })
	}
	opening.Wait()
	for _, s := range opened {
		if err := s.engine.Close(); err != nil {
			t.Error(err)
		}
	}
	return nodes
}

// note opens the journals of a node, and has the cluster know another node of an earlier release.
func note(t *testing.T, s *service, node string, level int) {
	err := s.openEngine(t.Context())
	if err == nil {
		err = s.openSecret(t.Context())
	}
	if err == nil {
		_, err = s.amend(t.Context(), func(all *identity) error { return all.Join(node, level) })
	}
	if err != nil {
		t.Error(err)
	}
}

// beginAt is begin, and tells where the service is.
func beginAt(t *testing.T, c config.Config, at *config.Endpoints) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan config.Endpoints, 1), make(chan error, 1)
	c.Ready = func(e config.Endpoints) { ready <- e }
	go func() {
		defer close(ended)
		ended <- Run(ctx, c)
	}()
	select {
	case *at = <-ready:
	case err := <-ended:
		t.Errorf("the service has ended: %v", err)
	}
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// beginAll starts nodes at the same time, until the test has ended.
func beginAll(t *testing.T, nodes []config.Config) []endpoint {
	t.Helper()
	endpoints := make([]endpoint, len(nodes))
	var starting sync.WaitGroup
	for i, c := range nodes {
		starting.Go(func() {
			e := &endpoints[i]
			e.T = t
			e.stop = beginAt(t, c, &e.Endpoints)
			t.Cleanup(e.stop)
		})
	}
	starting.Wait()
	return endpoints
}

// An endpoint is a node as its callers see it.
type endpoint struct {
	*testing.T
	config.Endpoints
	stop func()
}

// call makes a call of the operator's API with the root key.
func (e *endpoint) call(method, path, body string) (status int, answer string) {
	e.Helper()
	response, err := e.do(method, path, body)
	if err != nil {
		e.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		e.Error(err)
	}
	return response.StatusCode, string(text)
}

// do is call without reading the answer, whose body has to be closed.
func (e *endpoint) do(method, path, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(e.Context(), method, e.HTTP+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	sum := sha256.Sum256([]byte(body))
	keys := aws.Credentials{AccessKeyID: e.AccessKey, SecretAccessKey: e.SecretKey}
	if err := v4.NewSigner().SignHTTP(e.Context(), keys, request, hex.EncodeToString(sum[:]), "gamelift", e.Region,
		time.Now()); err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(request)
}

func (e *endpoint) ok(method, path, body string) string {
	e.Helper()
	status, answer := e.call(method, path, body)
	if status != http.StatusOK {
		e.Errorf("%s %s: status %d: %s", method, path, status, answer)
	}
	return answer
}

// accessChanges need catalog.AccessLevel.
var accessChanges = []struct{ method, path, body string }{
	{"POST", "/v1/users", `{"name":"ada","password":"correct horse battery staple"}`},
	{"POST", "/v1/groups", `{"name":"team"}`},
	{"PUT", "/v1/roles/tester", `{"policies":["GameLiftReadOnly"]}`},
	{"PUT", "/v1/assignments/read-only/ada", ""},
	{"PUT", "/v1/policies/none", `{"document":{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*",` +
		`"Resource":"*"}]}}`},
	{"POST", "/v1/keys", `{"service":"builder","policies":["GameLiftReadOnly"]}`},
	{"PATCH", "/v1/settings/sign-in", `{"localPasswords":true}`},
	{"POST", "/v1/secret/rotate", ""},
	{"POST", "/v1/root-key/rotate", ""}, // the last one: it ends the key that signs the calls
}

// While a node of the release before is a member of the region, people, roles and policies cannot be changed, and
// everybody learns why. The root key works. That ends when the node is removed.
func TestBelowAccessLevel(t *testing.T) {
	nodes := upgrading(t)
	endpoints := beginAll(t, nodes)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	refused := fmt.Sprintf(`{"error":"ServiceUnavailableException","message":"This call needs feature level %d, and `+
		"the region is at %d. Upgrade or remove the nodes", catalog.AccessLevel, catalog.AccessLevel-1)
	first := endpoints[0]
	awaitLevel(t, first, catalog.AccessLevel-1)
	var calling sync.WaitGroup
	for i := range endpoints {
		for _, c := range accessChanges {
			calling.Go(func() {
				status, answer := endpoints[i].call(c.method, c.path, c.body)
				if status != http.StatusServiceUnavailable || !strings.Contains(answer, refused) {
					t.Errorf("%s %s: status %d: %s", c.method, c.path, status, answer)
				}
			})
		}
		endpoints[i].ok("GET", "/v1/whoami", "")
		endpoints[i].ok("GET", "/v1/users", "")
	}
	calling.Wait()
	first.ok("DELETE", "/v1/nodes/n4", "")
	awaitLevel(t, first, region.MaxLevel)
	for i, c := range accessChanges {
		endpoints[i%len(endpoints)].ok(c.method, c.path, c.body)
	}
}

// awaitLevel waits until the catalog has a feature level.
func awaitLevel(t *testing.T, e endpoint, level int) {
	t.Helper()
	want := fmt.Sprintf(`"level":%d,"nodes"`, level)
	limit, look := time.NewTimer(time.Minute), time.NewTicker(10*time.Millisecond)
	defer limit.Stop()
	defer look.Stop()
	for answer := ""; !strings.Contains(answer, want); {
		_, answer = e.call("GET", "/v1/nodes", "")
		select {
		case <-look.C:
		case <-limit.C:
			t.Fatalf("the region does not come to level %d: %s", level, answer)
		}
	}
}
