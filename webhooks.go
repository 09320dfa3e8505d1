package muster

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/webhook"
)

// openWebhooks says where events are delivered; nil when nowhere.
func openWebhooks(c *Config, feed journal.Feed, observe func(outcome string)) (*webhook.Config, error) {
	if len(c.Webhooks) == 0 {
		return nil, nil
	}
	w := &webhook.Config{
		Feed: feed, Clock: c.Clock, Log: c.Log,
		Observe: func(_ webhook.Target, how webhook.Outcome) { observe(string(how)) },
	}
	for _, text := range c.Webhooks {
		w.Targets = append(w.Targets, parseWebhook(text))
	}
	if c.WebhookSecretFile == "" {
		c.Log.Warn("webhooks are not signed: who receives them cannot tell where they come from", "fix", "webhook-secret-file")
		return w, nil
	}
	secret, err := os.ReadFile(c.WebhookSecretFile)
	if err == nil {
		w.Secret, err = webhook.ParseSecret(string(secret))
	}
	if err != nil {
		return nil, fmt.Errorf("webhook-secret-file: %w", err)
	}
	return w, nil
}

// parseWebhook reads TOPIC=URL or URL.
func parseWebhook(text string) webhook.Target {
	topic, url, ok := strings.Cut(text, "=")
	if !ok || webURL(text) == nil { // a URL may have an equals sign in its query
		return webhook.Target{Topic: webhook.Everything, URL: text}
	}
	return webhook.Target{Topic: topic, URL: url}
}

// webhookTarget checks one.
func webhookTarget(text string) error {
	t := parseWebhook(text)
	if t.Topic == "" {
		return errors.New("an entry has no topic before its equals sign: write TOPIC=URL, or a URL alone")
	}
	if webURL(t.URL) != nil { // whose error shows the URL
		return fmt.Errorf("%q is not a URL such as https://backend.example.com/events", webhook.ShownURL(t.URL))
	}
	if strings.HasSuffix(t.URL, "?"+webhook.Hidden) {
		return fmt.Errorf("%q has a query that muster config has hidden: write the query itself", t.URL)
	}
	return nil
}

// shownWebhook is an entry as it may be shown.
func shownWebhook(text string) string {
	t := parseWebhook(text)
	if t.Topic == webhook.Everything {
		return webhook.ShownURL(t.URL)
	}
	return t.Topic + "=" + webhook.ShownURL(t.URL)
}
