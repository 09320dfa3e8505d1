package gameserver_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/gameserver"
)

// TestListContainersNetworkInfo asks a discovery server, and finds its way without.
func TestListContainersNetworkInfo(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /discovery/v1/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`[{"containerName":"game","containerId":"c1","ipAddress":"172.17.0.5",` +
			`"containerGroupType":"GAME_SERVER"}]`))
	})
	for path, metadata := range map[string]string{
		"none": `{"Networks":[]}`, "v6": `{"Networks":[{"IPv4Addresses":["::1"]}]}`, "text": `x`,
		"loop": `{"Networks":[{"NetworkMode":"bridge","IPv4Addresses":["127.0.0.5"]}]}`,
	} {
		mux.HandleFunc("GET /"+path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(metadata)) })
	}
	instance := httptest.NewServer(mux)
	t.Cleanup(instance.Close)
	for _, test := range []struct{ compute, discovery, metadata, says string }{
		{"CONTAINER", "/discovery", "", ""},
		{"", "/discovery", "", "no container"},
		{"ANYWHERE", "/discovery", "", "no container"},
		{"CONTAINER", "", "", "ECS_CONTAINER_METADATA_URI_V4 is not set"},
		{"CONTAINER", "/elsewhere", "", "404"},
		{"CONTAINER", "", "/elsewhere", "404"},
		{"CONTAINER", "", "/none", "no address"},
		{"CONTAINER", "", "/v6", "no IPv4 address"},
		{"CONTAINER", "", "/text", "invalid character"},
		{"CONTAINER", "", "/loop", "127.0.0.1:4092"}, // where it looks
	} {
		env := map[string]string{"GAMELIFT_COMPUTE_TYPE": test.compute}
		if test.discovery != "" {
			env["GAMELIFT_CONTAINER_DISCOVERY_SERVER_ENDPOINT"] = instance.URL + test.discovery
		}
		if test.metadata != "" {
			env["ECS_CONTAINER_METADATA_URI_V4"] = instance.URL + test.metadata
		}
		server := gameserver.New(gameserver.Config{Getenv: func(name string) string { return env[name] }})
		containers, err := server.ListContainersNetworkInfo(t.Context())
		want := gameserver.ContainerNetworkInfo{
			ContainerName: "game", ContainerID: "c1", IPAddress: "172.17.0.5",
			ContainerGroupType: "GAME_SERVER",
		}
		switch _, typed := errors.AsType[*gameserver.Error](err); {
		case test.says == "" && (err != nil || !slices.Equal(containers, []gameserver.ContainerNetworkInfo{want})):
			t.Errorf("%+v: %+v, %v", test, containers, err)
		case test.says != "" && (!typed || !strings.Contains(err.Error(), test.says)):
			t.Errorf("%+v: %v", test, err)
		}
	}
}
