package control

import "testing"

func TestConfigurationOf(t *testing.T) {
	for data, want := range map[string]string{
		"": "", "none": "", "[]": "", `{"matchId":"m"`: "", `{"matchmakingConfigurationArn":7}`: "",
		`{"matchId":"m","matchmakingConfigurationArn":"arn:a:matchmakingconfiguration/duel","teams":[`: "duel",
		`{"teams":[{"name":"red"}],"matchmakingConfigurationArn":"duel"}`:                              "duel",
	} {
		if got := ConfigurationOf(data); got != want {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
}
