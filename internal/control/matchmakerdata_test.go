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

func TestMatchOf(t *testing.T) {
	for data, want := range map[string]string{
		"": "", `{"matchId":7}`: "", `{"matchId":"m","matchmakingConfigurationArn":"duel"`: "m",
		`{"teams":[],"matchId":"m"}`: "m",
	} {
		if got, _ := matchOf(data); got != want {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
}
