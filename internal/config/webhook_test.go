package config

import (
	"strings"
	"testing"
)

func TestParseWebhook(t *testing.T) {
	const topic = "arn:aws:sns:us-west-2:111122223333:matches.fifo"
	for text, want := range map[string]Webhook{
		"https://a.example/hook":              {Topic: "*", URL: "https://a.example/hook"},
		"https://a.example/hook?to=b":         {Topic: "*", URL: "https://a.example/hook?to=b"},
		topic + "=http://a.example/hook?to=b": {Topic: topic, URL: "http://a.example/hook?to=b"},
	} {
		if got := ParseWebhook(text); got != want {
			t.Errorf("%s: %+v", text, got)
		}
		if err := webhook(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"=https://a.example", "topic", "topic=", "topic=ftp://a", "topic=https://user@a"} {
		if webhook(text) == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// TestWebhookURLsAreShownWithoutSecrets prints settings and mistakes in them without the
// query and the user of a URL.
func TestWebhookURLsAreShownWithoutSecrets(t *testing.T) {
	c := Default()
	c.Webhooks = []string{"https://a.example/hook?token=sesame", "topic=https://b.example/x?token=sesame",
		"https://c.example/y"}
	c.Cluster.NATS = []string{"nats://user:sesame@nats.example:4222"}
	var shown string
	for _, s := range c.Settings() {
		line, err := s.Redacted().TOML()
		if err != nil {
			t.Fatal(err)
		}
		shown += line + " " + s.Redacted().String() + "\n"
	}
	for _, want := range []string{`"https://a.example/hook?***"`, `"topic=https://b.example/x?***"`,
		`"https://c.example/y"`, "nats.example:4222"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %s in\n%s", want, shown)
		}
	}
	if strings.Contains(shown, "sesame") || !strings.Contains(c.Webhooks[0], "sesame") {
		t.Errorf("secrets are shown, or lost: %v\n%s", c.Webhooks, shown)
	}
	for _, bad := range []string{"topic=ftp://a?token=sesame", "https://user:sesame@a.example",
		"https://a.example/hook?***", "topic=https://\x7fsesame"} {
		if err := webhook(bad); err == nil || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
