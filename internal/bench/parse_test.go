package bench

import (
	"strings"
	"testing"
	"time"
)

func TestTextMember(t *testing.T) {
	for text, want := range map[string]string{
		`{"GameSession":{"GameSessionId":"arn:x","Name":"n"}}`: "arn:x",
		`{ "GameSessionId" : "arn:y" }`:                        "arn:y",
		`{"Name":"GameSessionId","GameSessionId":"arn:z"}`:     "arn:z",
		`{"GameSessionId":7}`:                                  "",
		`{"GameSessionId":"cut`:                                "cut",
		`"GameSessionId"`:                                      "",
		``:                                                     "",
	} {
		if got := textMember([]byte(text), "GameSessionId"); got != want {
			t.Errorf("%s: got %q", text, got)
		}
	}
}

func TestMetrics(t *testing.T) {
	u, err := parseMetrics(strings.NewReader(`# HELP process_cpu_seconds_total Total user and system CPU time.
# TYPE process_cpu_seconds_total counter
muster_api_calls_total{operation="a b"} 7
process_cpu_seconds_total 1.5
go_memstats_mallocs_total 1.2345e+06
process_resident_memory_bytes 6e+07
`))
	if err != nil || u.cpu != 1500*time.Millisecond || u.allocations != 1_234_500 || u.resident != 6e7 {
		t.Errorf("got %+v, %v", u, err)
	}
	if _, err := parseMetrics(strings.NewReader("up 1\n")); err == nil {
		t.Error("metrics without the processor time were taken")
	}
}

func TestTable(t *testing.T) {
	var text strings.Builder
	err := WriteTable(&text, []*Result{
		{Profile: "players", Unit: "player sessions", Connections: 64, Seconds: 2, Operations: 100, Units: 2500,
			UnitsRate: 1250, Exhausted: true, Pool: 10,
			Latency: Latency{P99: 0.0125}, Server: &Cost{CPUSecondsPerOp: 122e-6}},
		{Profile: "search", Unit: "searches", OfferedRate: 500, Unsent: 3,
			Errors: map[string]int64{"ThrottlingException": 2, "timeout": 9}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"1250", "12.50 ms", "122.0", "players: 2500 player sessions in 2.0 s; then the pool of 10 was used up", "500",
		"search: 3 operations that were due", "search: 9 × timeout\nsearch: 2 × ThrottlingException\n",
	} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("lacks %q:\n%s", part, &text)
		}
	}
}
