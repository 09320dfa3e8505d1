package server

import (
	"fmt"
	"os"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/publish"
)

// openWebhooks returns the configuration of webhooks; nil if there are none.
func openWebhooks(c *config.Config, feed journal.Feed, observe func(outcome string)) (*publish.Webhooks, error) {
	if len(c.Webhooks) == 0 {
		return nil, nil
	}
	w := &publish.Webhooks{
		Feed: feed, Clock: c.Clock, Log: c.Log,
		Observe: func(how publish.Outcome) { observe(string(how)) },
	}
	for _, text := range c.Webhooks {
		to := config.ParseWebhook(text)
		w.Targets = append(w.Targets, publish.Target{Topic: to.Topic, URL: to.URL, Shown: config.ShownURL(to.URL)})
	}
	if c.WebhookSecretFile == "" {
		c.Log.Warn("webhooks are not signed: receivers cannot authenticate them", "fix", "webhook-secret-file")
		return w, nil
	}
	secret, err := os.ReadFile(c.WebhookSecretFile)
	if err == nil {
		w.Secret, err = publish.ParseSecret(string(secret))
	}
	if err != nil {
		return nil, fmt.Errorf("webhook-secret-file: %w", err)
	}
	return w, nil
}
