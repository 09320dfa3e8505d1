package muster

import (
	"testing"

	"github.com/muster-gg/muster/internal/webhook"
)

func TestParseWebhook(t *testing.T) {
	const topic = "arn:aws:sns:us-west-2:111122223333:matches.fifo"
	for text, want := range map[string]webhook.Target{
		"https://a.example/hook":              {Topic: "*", URL: "https://a.example/hook"},
		"https://a.example/hook?to=b":         {Topic: "*", URL: "https://a.example/hook?to=b"},
		topic + "=http://a.example/hook?to=b": {Topic: topic, URL: "http://a.example/hook?to=b"},
	} {
		if got := parseWebhook(text); got != want {
			t.Errorf("%s: %+v", text, got)
		}
		if err := webhookTarget(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"=https://a.example", "topic", "topic=", "topic=ftp://a", "topic=https://user@a"} {
		if webhookTarget(text) == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
