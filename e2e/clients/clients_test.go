package clients

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

func TestSubcommand(t *testing.T) {
	for operation, want := range map[string]string{
		"CreateFleet":               "create-fleet",
		"GetComputeAuthToken":       "get-compute-auth-token",
		"DescribeEC2InstanceLimits": "describe-ec2-instance-limits",
		"ListFleets":                "list-fleets",
	} {
		if got := subcommand(operation); got != want {
			t.Errorf("subcommand(%s) = %s, want %s", operation, got, want)
		}
	}
}

// answerer is the least of a service: it answers ListFleets with the name that
// it was asked for, and refuses everything else.
func answerer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	operation := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	encode, decode, kind := cbor.Marshal, cbor.Unmarshal, "application/cbor"
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		operation = strings.TrimPrefix(target, "GameLift.")
		encode, decode, kind = json.Marshal, json.Unmarshal, "application/x-amz-json-1.1"
	} else {
		w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	}
	w.Header().Set("Content-Type", kind)
	status, answer := http.StatusBadRequest, map[string]any{"__type": "NotFoundException",
		"message": "there is no such fleet", "Message": "there is no such fleet"}
	if operation == "ListFleets" {
		var asked struct{ BuildId string }
		if err := decode(body, &asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		status, answer = http.StatusOK, map[string]any{"FleetIds": []string{asked.BuildId}}
	}
	out, err := encode(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(out) // a client that left is the test's concern
}

func TestClientsCallAndReport(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(answerer))
	t.Cleanup(service.Close) // after the parallel subtests
	environ := Environ(service.URL, "us-west-2", "AKIDEXAMPLE", "secret")
	for name, open := range map[string]func(*testing.T) Caller{
		"AWS CLI":    func(t *testing.T) Caller { return AWSCLI(t, environ) },
		"boto3":      func(t *testing.T) Caller { return Boto3(t, environ) },
		"JavaScript": func(t *testing.T) Caller { return JavaScript(t, environ) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := open(t)
			var fleets struct{ FleetIds []string }
			if err := client.Call("ListFleets", map[string]any{"BuildId": "build-é"}, &fleets); err != nil {
				t.Fatal(err)
			}
			if len(fleets.FleetIds) != 1 || fleets.FleetIds[0] != "build-é" {
				t.Errorf("got %v", fleets.FleetIds)
			}
			err := client.Call("DeleteFleet", map[string]any{"FleetId": "fleet-1"}, nil)
			if Code(err) != "NotFoundException" || !strings.Contains(err.Error(), "there is no such fleet") {
				t.Errorf("refusal: %v", err)
			}
			if err := client.Call("NoSuchOperation", nil, nil); err == nil || Code(err) != "" {
				t.Errorf("unknown operation: %v", err)
			}
		})
	}
}
