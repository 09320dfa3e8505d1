package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/agent/plan"
)

func TestParseRuntime(t *testing.T) {
	got, err := ParseRuntime([]byte(`{"serverProcesses":[{"LaunchPath":"/a","ConcurrentExecutions":"3"},` +
		`{"launchpath":"/b","Parameters":"-p {port}","ConcurrentExecutions":1}],"Other":{}}`))
	want := []plan.Entry{{LaunchPath: "/a", Count: 3}, {LaunchPath: "/b", Parameters: "-p {port}", Count: 1}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		`[]`: "runtime configuration",
		`{"ServerProcesses":[{"LaunchPath":"/a"}]}`:                                   "entry 1",
		`{"ServerProcesses":[{"ConcurrentExecutions":1}]}`:                            "entry 1",
		`{"ServerProcesses":[{"LaunchPath":"/a","ConcurrentExecutions":51}]}`:         "1 to 50",
		`{"ServerProcesses":[{"LaunchPath":"/a","ConcurrentExecutions":"many"}]}`:     "many",
		`{"ServerProcesses":[` + strings.Repeat(`{},`, maxEntries) + `{}]}`:           "at most 50",
		`{"ServerProcesses":[{"LaunchPath":"/a","ConcurrentExecutions":9999999999}]}`: "9999999999",
	} {
		if _, err := ParseRuntime([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}

// FuzzParseRuntime: any text is an error, or entries within the bounds.
func FuzzParseRuntime(f *testing.F) {
	f.Add([]byte(`{"ServerProcesses":[{"LaunchPath":"/a","ConcurrentExecutions":"3"}]}`))
	f.Add([]byte(`{"ServerProcesses":[{"ConcurrentExecutions":null}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := ParseRuntime(text)
		if err == nil && len(entries) > maxEntries {
			t.Errorf("%d entries", len(entries))
		}
		for _, e := range entries {
			if e.LaunchPath == "" || e.Count < 1 || e.Count > maxCount {
				t.Errorf("entry %+v", e)
			}
		}
	})
}

// FuzzDecode: any message of the service is an error, or has an envelope.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"Action":"SendHeartbeat","RequestId":"h","StatusCode":200,"UnregisteredProcesses":null}`))
	f.Add([]byte(`{"action":"RefreshConnection","ExpirationTime":"1"}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := decode(data); err == nil && m.Action == "" && m.RequestId == "" {
			t.Errorf("%q is accepted", data)
		}
	})
}
