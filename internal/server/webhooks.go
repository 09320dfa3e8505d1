package server

import (
	"fmt"
	"os"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/webhook"
)

// openWebhooks returns the configuration of webhooks; nil if there are none.
func openWebhooks(c *config.Config, feed journal.Feed, observe func(outcome string)) (*webhook.Config, error) {
	if len(c.Webhooks) == 0 {
		return nil, nil
	}
	w := &webhook.Config{
		Feed: feed, Clock: c.Clock, Log: c.Log,
		Observe: func(_ webhook.Target, how webhook.Outcome) { observe(string(how)) },
	}
	for _, text := range c.Webhooks {
		w.Targets = append(w.Targets, config.ParseWebhook(text))
	}
	if c.WebhookSecretFile == "" {
		c.Log.Warn("webhooks are not signed: receivers cannot authenticate them", "fix", "webhook-secret-file")
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
