package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/muster-gg/muster/internal/webhook"
)

// ParseWebhook reads TOPIC=URL or URL.
func ParseWebhook(text string) webhook.Target {
	topic, url, ok := strings.Cut(text, "=")
	if !ok || webURL(text) == nil { // a URL may have an equals sign in its query
		return webhook.Target{Topic: webhook.Everything, URL: text}
	}
	return webhook.Target{Topic: topic, URL: url}
}

// webhookTarget checks an entry.
func webhookTarget(text string) error {
	t := ParseWebhook(text)
	if t.Topic == "" {
		return errors.New("an entry has no topic before its equals sign: write TOPIC=URL, or a URL alone")
	}
	if webURL(t.URL) != nil { // its error shows the URL
		return fmt.Errorf("%q is not a URL such as https://backend.example.com/events", webhook.ShownURL(t.URL))
	}
	if strings.HasSuffix(t.URL, "?"+webhook.Hidden) {
		return fmt.Errorf("%q has a query that muster config has hidden: write the query itself", t.URL)
	}
	return nil
}

// shownWebhook returns an entry without secrets.
func shownWebhook(text string) string {
	t := ParseWebhook(text)
	if t.Topic == webhook.Everything {
		return webhook.ShownURL(t.URL)
	}
	return t.Topic + "=" + webhook.ShownURL(t.URL)
}
