package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/mustertest/lambdatest"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/mustertest"
)

func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		fmt.Fprintln(os.Stderr, run(context.Background(), os.Environ()))
		os.Exit(1)
	}
	leaktest.Main(m)
}

const (
	apiKey   = "0123456789abcdef"
	location = "custom-home"
)

// TestFunction runs the program as Lambda does, in front of a real service with a
// real game server.
func TestFunction(t *testing.T) {
	service := mustertest.Start(t, func(c *muster.Config) { c.Region = "eu-central-1" })
	service.Launch(service.Compute(service.Fleet(location), location, "pc"), 7777)
	f := &function{T: t, Lambda: lambdatest.Start(t)}
	f.Start(t, []string{
		"AWS_ACCESS_KEY_ID=" + service.AccessKey, "AWS_SECRET_ACCESS_KEY=" + service.SecretKey,
		"AWS_REGION=" + service.Region,
		"MUSTER_GATEWAY_ENDPOINT=" + service.HTTP, "MUSTER_GATEWAY_KEYS=game:" + apiKey, "MUSTER_LOG_LEVEL=warn",
	}, os.Args[0])

	created := f.object(f.ask(http.MethodPost, "/create_session", apiKey,
		`{"session_name":"duel","build_id":7,"uuid":"ada","num_connections":4.0}`), http.StatusOK)
	if created["PlayerId"] != "ada" || created["IpAddress"] != "127.0.0.1" || created["Port"] != 7777.0 ||
		created["Status"] != "RESERVED" {
		t.Errorf("created %v", created)
	}
	var found []map[string]any
	answer := f.ask(http.MethodGet, "/find_session", apiKey, "")
	if err := json.Unmarshal([]byte(answer.Body), &found); err != nil || len(found) != 1 ||
		found[0]["GameSessionId"] != created["GameSessionId"] || found[0]["Name"] != "duel" {
		t.Errorf("found %s, %v", answer.Body, err)
	}
	joined := f.object(f.ask(http.MethodPost, "/join_session", apiKey,
		fmt.Sprintf(`{"GameSessionId":%q,"uuid":"bob"}`, created["GameSessionId"])), http.StatusOK)
	if joined["PlayerId"] != "bob" || joined["GameSessionId"] != created["GameSessionId"] ||
		joined["PlayerSessionId"] == created["PlayerSessionId"] {
		t.Errorf("joined %v", joined)
	}
	f.failed(f.ask(http.MethodPost, "/create_session", "", "{}"), http.StatusUnauthorized, "unauthenticated")
	f.failed(f.ask(http.MethodPost, "/create_session", apiKey, "{"), http.StatusBadRequest, "invalid_request")
	f.failed(f.ask(http.MethodGet, "/v1/sessions/"+url.PathEscape(created["GameSessionId"].(string))+"/events", apiKey,
		""), http.StatusNotImplemented, "not_supported")
	if ready := f.object(f.ask(http.MethodGet, "/readyz", "", ""), http.StatusOK); ready["status"] != "ok" {
		t.Errorf("%v", ready)
	}
}

// A function is the program under test.
type function struct {
	*testing.T
	*lambdatest.Lambda
}

// ask has API Gateway pass a request on, of a REST API in the stage Prod.
func (f *function) ask(method, path, key, body string) (answer events.APIGatewayProxyResponse) {
	f.Helper()
	e := events.APIGatewayProxyRequest{
		Resource: "/{proxy+}", PathParameters: map[string]string{"proxy": path[1:]}, Path: path, HTTPMethod: method,
		Body:              body,
		MultiValueHeaders: map[string][]string{"content-type": {"application/json"}},
		RequestContext: events.APIGatewayProxyRequestContext{
			Stage: "Prod", Path: "/Prod" + path, RequestID: "request-1",
			Identity: events.APIGatewayRequestIdentity{SourceIP: "203.0.113.9"},
		},
	}
	if key != "" {
		e.MultiValueHeaders["x-api-key"] = []string{key}
	}
	result := f.Invoke(f.T, e)
	if err := json.Unmarshal(result.Payload, &answer); err != nil || result.Failed {
		f.Fatalf("%s %s: %s, %v", method, path, result.Payload, err)
	}
	if id := answer.MultiValueHeaders["X-Request-Id"]; len(id) != 1 || id[0] != "request-1" {
		f.Errorf("%s %s has the request ids %v", method, path, id)
	}
	return answer
}

// object checks the status and reads the body.
func (f *function) object(answer events.APIGatewayProxyResponse, status int) (object map[string]any) {
	f.Helper()
	if err := json.Unmarshal([]byte(answer.Body), &object); err != nil || answer.StatusCode != status {
		f.Fatalf("got %d %s, want %d", answer.StatusCode, answer.Body, status)
	}
	return object
}

func (f *function) failed(answer events.APIGatewayProxyResponse, status int, code string) {
	f.Helper()
	if o := f.object(answer, status); o["code"] != code || o["error"] == "" || o["requestId"] != "request-1" ||
		len(o) != 3 {
		f.Errorf("got %v, want the code %s", o, code)
	}
}
